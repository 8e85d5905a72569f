"""The rules: each looks at a situation and says what is missing, or nothing. The first that speaks is right.

Owns: the rules and their order. Does not own: questions about the trace (`situation.py`). Floor 2b.
Source: facts/concurrency.md section 6 ("Name the missing wait"), refined: adjacency decides between a wrong and a late
wait, and the layer number in an event's name between a late wait and an early record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kernels.races.detector.race import pattern_of
from kernels.races.naming.codes import Code
from kernels.races.naming.situation import Situation, is_by_host
from kernels.substrate.trace import HostStep, Operation


class Named(NamedTuple):
    """What a rule says. needs_record: no record is where one would help; event: the one to record there, where it has a
    name already. teacher: a thread that waits for the first access, and need only say so."""

    code: Code
    because: str
    evidence: tuple[Operation | HostStep, ...] = ()
    needs_record: bool = False
    event: str = ""
    teacher: str = ""


Rule = Callable[[Situation], Named | None]


def host_access(at: Situation) -> Named | None:
    """The first access is made by a host thread itself: no stream can record its end."""
    first, second = at.race.first.operation, at.race.second.operation
    if not is_by_host(first):
        return None
    text = (
        f"thread {first.thread} makes #{first.ordinal} {first.label} itself, so no stream can record its end; thread "
        f"{second.thread} does not hear from it before #{second.ordinal}"
    )
    return Named(Code.WRONG_THREAD, text, teacher=first.thread)


def unarmed_wait(at: Situation) -> Named | None:
    """B waits before the access, but when the wait was issued the event had no record: it waits for nothing."""
    for wait in at.waits_before():
        records = at.records_of(wait.operation.event)
        is_own = any(record.lane is at.a and record.place > at.race.first.place for record in records)
        if wait.record is None and is_own:
            text = (
                f"{at.b.name} waits for {wait.operation.event} at #{wait.operation.ordinal}, but it was first "
                f"recorded at #{records[0].operation.ordinal}, later: the wait does nothing"
            )
            return Named(Code.UNARMED_WAIT, text, (wait.operation, records[0].operation))
    return None


def unarmed_look(at: Situation) -> Named | None:
    """The issuing thread waits or asks before the access, but the event was not recorded yet."""
    for step in at.unarmed_looks():
        late = [record for record in at.covering() if record.operation.event == step.event]
        if late:
            text = (
                f"thread {step.thread} asks for {step.event}, but it is first recorded at "
                f"#{late[0].operation.ordinal}, later: the answer is yes at once"
            )
            return Named(Code.UNARMED_WAIT, text, (step, late[0].operation))
    return None


def early_record(at: Situation) -> Named | None:
    """A records the event before the access that it should cover."""
    early = at.early_record()
    if early is None:
        return None
    record = early.operation
    text = (
        f"{at.a.name} records {record.event} at #{record.ordinal}, before #{at.race.first.operation.ordinal} "
        f"{at.race.first.operation.label}: the record does not cover it"
    )
    return Named(Code.EARLY_RECORD, text, (record,), needs_record=True)


def early_look(at: Situation) -> Named | None:
    """The host learns of a record that A made before the access that it should cover."""
    look = at.early_look()
    if look is None:
        return None
    first, record, step = at.race.first.operation, look.record.operation, look.step
    text = (
        f"thread {step.thread} learns that {record.event} is over, but {at.a.name} records it at #{record.ordinal}, "
        f"before #{first.ordinal} {first.label}: the record does not cover it"
    )
    return Named(Code.EARLY_RECORD, text, (record, step), needs_record=True)


def misleading_look(at: Situation) -> Named | None:
    """The host asks for an end that is recorded nowhere, elsewhere, or too long ago."""
    found = at.misleading_look()
    if found is None:
        return None
    step, record = found
    first = at.race.first.operation
    if record is None:
        text = f"thread {step.thread} asks for {step.event}, which has no record, so the answer is yes at once"
    elif record.lane is at.a:
        text = f"thread {step.thread} learns that record {step.generation} of {step.event} is over, an older one"
    else:
        where = f"{record.operation.stream} that records it, at #{record.operation.ordinal}"
        text = f"thread {step.thread} learns that {step.event} is over, but it is {where}"
    text += f"; {at.a.name} does not record it behind #{first.ordinal} {first.label}"
    evidence = (step,) if record is None else (record.operation, step)
    return Named(Code.MISSING_RECORD, text, evidence, needs_record=True)


def missing_record(at: Situation) -> Named | None:
    """Nothing on A behind the access could be waited for, or not the event that B does wait for."""
    first = at.race.first.operation
    dropped = at.dropped_record()
    if dropped is not None:
        waited = dropped.operation
        text = f"{at.a.name} does not record {waited.event} behind #{first.ordinal} {first.label}"
        if dropped.record is None:
            text += f"; {at.b.name} waits for it at #{waited.ordinal}: the wait does nothing"
        else:
            text += f"; {at.b.name} waits at #{waited.ordinal} for its record {waited.generation}, an older one"
        return Named(Code.MISSING_RECORD, text, (waited,), needs_record=True, event=waited.event)
    if at.own_record is not None:
        return None
    text = f"{at.a.name} records no event behind #{first.ordinal} {first.label}"
    return Named(Code.MISSING_RECORD, text, needs_record=True)


def wrong_event(at: Situation) -> Named | None:
    """Directly before the access B does wait, but for another event, or for an older record of this one."""
    own = at.own_record
    assert own is not None
    for wait in at.adjacent_waits():
        waited, meant = wait.operation, own.operation
        if wait.record is None or pattern_of(waited.event) != pattern_of(meant.event):
            continue
        what = waited.event
        if waited.event == meant.event:
            what = f"record {waited.generation} of {waited.event}, an older one"
        text = (
            f"{at.b.name} waits for {what} at #{waited.ordinal}; "
            f"#{at.race.first.operation.ordinal} {at.race.first.operation.label} is covered by "
            f"{meant.event}, record {meant.generation}, at #{meant.ordinal}"
        )
        return Named(Code.WRONG_EVENT, text, (waited, meant))
    return None


def waits_elsewhere(at: Situation) -> Named | None:
    """A host thread waits for the first access and issues nothing behind it: a gate in the wrong thread."""
    issuer = at.race.second.operation.thread
    for look in at.looks_for_nothing():
        step = look.step
        text = (
            f"thread {step.thread} waits for {step.event} and issues nothing behind it; "
            f"#{at.race.second.operation.ordinal} is issued by thread {issuer}, which does not wait: a host wait "
            "orders only the thread that waits"
        )
        return Named(Code.WRONG_THREAD, text, (step,), teacher=step.thread)
    return None


def late_wait(at: Situation) -> Named | None:
    """B waits for the right event, but behind the access."""
    wait = at.late_wait()
    if wait is None:
        return None
    operations = wait.place - at.race.second.place
    text = (
        f"{at.b.name} waits for {wait.operation.event} at #{wait.operation.ordinal}, "
        f"{operations} operation{'s' if operations > 1 else ''} after the access"
    )
    evidence = [wait.operation]
    earlier = at.waits_before()
    if earlier:
        text += f"; its last wait before it is for {earlier[0].operation.event} at #{earlier[0].operation.ordinal}"
        evidence.insert(0, earlier[0].operation)
    return Named(Code.LATE_WAIT, text, tuple(evidence))


def wrong_thread(at: Situation) -> Named | None:
    """Somebody waits for the first access, but not whoever makes, or issues, the second."""
    issuer = at.race.second.operation.thread
    looks = [look for look in at.host_looks() if look.step.thread != issuer]
    if looks:
        step = looks[-1].step
        text = (
            f"thread {step.thread} learns that {step.event} is over; #{at.race.second.operation.ordinal} is issued by "
            f"thread {issuer}, which does not: a host wait orders only the thread that waits"
        )
        return Named(Code.WRONG_THREAD, text, (step,), teacher=step.thread)
    foreign = at.foreign_waits()
    if foreign:
        lane, wait = foreign[-1]
        text = f"stream {lane.name} waits for {wait.operation.event}; the access is on {at.b.name}, which does not"
        return Named(Code.WRONG_THREAD, text, (wait.operation,))
    return None


def missing_wait(at: Situation) -> Named | None:
    """The record is there, and nobody waits."""
    own = at.own_record
    assert own is not None
    text = (
        f"{at.a.name} records {own.operation.event} at #{own.operation.ordinal}; {at.b.name} never waits for it before "
        f"#{at.race.second.operation.ordinal}"
    )
    return Named(Code.MISSING_WAIT, text, (own.operation,))


RULES: tuple[Rule, ...] = (
    host_access,
    unarmed_wait,
    unarmed_look,
    early_record,
    early_look,
    misleading_look,
    missing_record,
    wrong_event,
    waits_elsewhere,
    late_wait,
    wrong_thread,
    missing_wait,
)
