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
from kernels.races.naming.situation import Situation
from kernels.substrate.trace import HostStep, Operation


class Named(NamedTuple):
    """What a rule says. needs_record: no record is where one would help."""

    code: Code
    because: str
    evidence: tuple[Operation | HostStep, ...] = ()
    needs_record: bool = False


Rule = Callable[[Situation], Named | None]


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


def missing_record(at: Situation) -> Named | None:
    """Nothing on A behind the access could be waited for."""
    if at.own_record is not None:
        return None
    waits = [wait for wait in at.adjacent_waits() if wait.record is None]
    text = f"{at.a.name} records no event behind #{at.race.first.operation.ordinal} {at.race.first.operation.label}"
    if waits:
        text += f"; {at.b.name} waits for {waits[0].operation.event}, which is never recorded: the wait does nothing"
    return Named(Code.MISSING_RECORD, text, tuple(wait.operation for wait in waits), needs_record=True)


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
        return Named(Code.WRONG_THREAD, text, (step,))
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
    unarmed_wait,
    early_record,
    missing_record,
    wrong_event,
    late_wait,
    wrong_thread,
    missing_wait,
)
