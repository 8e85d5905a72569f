"""The space-time diagram of a race as data: lanes, bars, arrows, and the order that is missing.

Owns: which rows of a trace are shown, which are folded, and what is said of each. Does not own: pixels (`drawing`),
the page. Floor 2b. A lane is a stream or a host thread; a host thread shows where the racing operations were issued.

Close up, only what bears on the race is shown: the two accesses, what else touches their pages, and the orders around
them. Everything else between is folded to a count. The whole trace is shown too, as far as it is short enough.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from kernels.races.detector.race import Race
from kernels.races.naming.codes import Finding
from kernels.races.report.bearing import bearing, begin_of, host_steps, racing_roles, record_to_wait_for
from kernels.races.report.facts import Fact, facts_of, issue_facts
from kernels.races.search.mending import Additions, Edge
from kernels.substrate.trace import HostStep, MemoryTrace, Operation

WHOLE_MAX = 400
"""Operations that are drawn at most: more are no picture any more."""
FOLDED_TOLD = 12
"""Folded operations that are told by name."""


class Kind(StrEnum):
    """What a bar stands for. `ADDED`: an order that is not there, and should be."""

    COPY = "copy"
    KERNEL = "kernel"
    RECORD = "record"
    WAIT = "wait"
    ISSUE = "issue"
    HOST = "host"
    FOLD = "fold"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Bar:
    """One operation, or what stands for some. lane: its name. phase: what comes first at one time. role: `read` or
    `write` for the two that race, and whether what was read is `stale`."""

    key: str
    kind: Kind
    lane: str
    begin: int
    end: int
    text: str
    phase: int = 2
    role: str = ""
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """From the end of one bar to the beginning of another. kind: `event`, `missing`, `added`, `issued`."""

    kind: str
    source: str
    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagram:
    """lanes: in drawing order; the first `host_count` are host threads. hidden: what no lane shows, in one sentence."""

    lanes: tuple[str, ...]
    host_count: int
    bars: tuple[Bar, ...]
    arrows: tuple[Arrow, ...]
    hidden: str = ""


def close_up(trace: MemoryTrace, finding: Finding, stale: Collection[int] = ()) -> Diagram | None:
    """What bears on the race; None where the order does not have it. stale: operations that read wrong bytes."""
    rows = trace.operations
    keys = bearing(trace, finding)
    if not keys:
        return None
    shown = [row for row in rows if row.ordinal in keys]
    begin, end = min(begin_of(row) for row in shown), max(row.end_ns for row in shown)
    lanes = _lanes(shown, finding.race)
    times = sorted({time for row in shown for time in (begin_of(row), row.end_ns)})
    folds: dict[tuple[str, int], list[Operation]] = {}
    for row in rows:
        if row.ordinal not in keys and row.stream in lanes and begin <= begin_of(row) <= end:
            gap = sum(time <= begin_of(row) for time in times)
            folds.setdefault((row.stream, gap), []).append(row)
    bars = [
        *_bars(shown, finding, stale),
        *(_fold(lane, times[gap - 1], folded) for (lane, gap), folded in folds.items()),
    ]
    away = len(rows) - len(shown) - sum(map(len, folds.values()))
    hidden = f"{away:,} further operations before, behind, or on other streams are left out" if away else ""
    return _diagram(lanes, bars, shown, finding, host_steps(trace, finding), hidden)


def whole(trace: MemoryTrace, finding: Finding, stale: Collection[int] = ()) -> Diagram | None:
    """Every operation; None where there are too many to see anything."""
    rows = trace.operations
    if len(rows) > WHOLE_MAX:
        return None
    bars = list(_bars(rows, finding, stale))
    return _diagram(_lanes(rows, finding.race), bars, rows, finding, host_steps(trace, finding))


def marked(trace: MemoryTrace, edges: Sequence[Edge]) -> Diagram | None:
    """An order of a program, and what `edges` added to it marked; None where it is too long to see anything."""
    rows = trace.operations
    if len(rows) > WHOLE_MAX:
        return None
    added = {_key(ordinal) for ordinal in _added_ordinals(rows, edges)}
    bars = [replace(bar, kind=Kind.ADDED) if bar.key in added else bar for bar in map(_bar, rows)]
    arrows = [replace(one, kind="added") if one.target in added else one for one in _event_arrows(rows)]
    return Diagram(tuple(dict.fromkeys(row.stream for row in rows)), 0, tuple(bars), tuple(arrows))


def _added_ordinals(rows: Sequence[Operation], edges: Sequence[Edge]) -> set[int]:
    """Which operations of a mended program are not the program's own."""
    additions = Additions(edges)
    found: set[int] = set()
    for stream in dict.fromkeys(row.stream for row in rows):
        lane = iter([row.ordinal for row in rows if row.stream == stream])
        place = 0
        while True:
            place += 1
            waits = additions.waits.get((stream, place), [])
            records = additions.records.get((stream, place), [])
            found.update(islice(lane, len(waits)))
            if next(lane, None) is None:
                break
            found.update(islice(lane, len(records)))
    return found


def _diagram(
    lanes: Sequence[str],
    bars: list[Bar],
    rows: Sequence[Operation],
    finding: Finding,
    steps: Sequence[HostStep],
    hidden: str = "",
) -> Diagram:
    race = finding.race
    by_ordinal = {row.ordinal: row for row in rows}
    arrows = _event_arrows(rows)
    records = {(row.event, row.generation): _key(row.ordinal) for row in rows if row.kind == "record"}
    # A look at a record that is not shown is about something else.
    looks = [step for step in steps if (step.event, step.generation) in records]
    names = [race.first.operation.thread, race.second.operation.thread, *(step.thread for step in looks)]
    threads = list(dict.fromkeys(map(_host, names)))
    for number, step in enumerate(looks):
        bars.append(_host_bar(f"h{number}", step))
        if step.answer:
            arrows.append(Arrow("event", records[step.event, step.generation], bars[-1].key, step.event))
    racing = [by_ordinal[ordinal] for ordinal in racing_roles(race) if ordinal in by_ordinal]
    if len(racing) == 2:
        first, second = (_key(row.ordinal) for row in racing)
        arrows.append(Arrow("missing", first, second, "nothing orders these"))
        for row in racing:
            bars.append(_issue_bar(row))
            arrows.append(Arrow("issued", bars[-1].key, _key(row.ordinal), f"issued as #{row.ordinal}"))
        bars += _added(finding, by_ordinal)
        arrows += _added_arrow(finding, rows)
    return Diagram((*threads, *lanes), len(threads), tuple(bars), tuple(arrows), hidden)


def _bars(rows: Iterable[Operation], finding: Finding, stale: Collection[int]) -> Iterable[Bar]:
    roles = racing_roles(finding.race)
    for row in rows:
        role = roles.get(row.ordinal, "")
        yield _bar(row, f"{role} stale".lstrip() if row.ordinal in stale else role)


def _bar(row: Operation, role: str = "") -> Bar:
    kind = Kind(row.kind)
    text = f"{kind} {_within(row.stream, row.event)}" if row.event else row.label
    phase = {Kind.WAIT: 1, Kind.RECORD: 3}.get(kind, 2)
    begin = begin_of(row)
    return Bar(
        _key(row.ordinal), kind, row.stream, begin, row.end_ns, f"#{row.ordinal} {text}", phase, role, facts_of(row)
    )


def _issue_bar(row: Operation) -> Bar:
    text, at = f"issues #{row.ordinal} {row.label}", row.issue_ns
    return Bar(f"i{row.ordinal}", Kind.ISSUE, _host(row.thread), at, at, text, 0, "", issue_facts(row))


def _host_bar(key: str, step: HostStep) -> Bar:
    answer = "" if step.kind == "until" else f": {'yes' if step.answer else 'no'}"
    text = f"{'waits' if step.kind == 'until' else 'asks'} {step.event}{answer}"
    facts = (Fact("host step", text), Fact("thread", step.thread), Fact("bound to", f"record {step.generation}"))
    return Bar(key, Kind.HOST, _host(step.thread), step.time_ns, step.time_ns, text, 0, "", facts)


def _fold(lane: str, time: int, rows: Sequence[Operation]) -> Bar:
    noun = "operation" if len(rows) == 1 else "operations"
    facts = [Fact("folded", f"{len(rows)} {noun} on which the race does not depend")]
    facts += [Fact(f"#{row.ordinal}", row.label) for row in rows[:FOLDED_TOLD]]
    if len(rows) > FOLDED_TOLD:
        facts.append(Fact("", f"and {len(rows) - FOLDED_TOLD} more"))
    return Bar(f"f{rows[0].ordinal}", Kind.FOLD, lane, time, time, f"{len(rows)} {noun}", 4, "", tuple(facts))


def _added(finding: Finding, rows: dict[int, Operation]) -> list[Bar]:
    """The order that is to be added, where it belongs."""
    mend, race = finding.mend, finding.race
    second = rows[race.second.operation.ordinal]
    fact, at = (Fact("to add", str(mend)),), begin_of(second)
    wait = f"+ wait {_within(second.stream, mend.event)}"
    bars = [Bar("wait", Kind.ADDED, second.stream, at, at, wait, 1, "", fact)]
    if mend.record_after is not None and mend.record_after.ordinal in rows:
        first = rows[mend.record_after.ordinal]
        text = f"+ record {_within(first.stream, mend.event)}"
        bars.append(Bar("record", Kind.ADDED, first.stream, first.end_ns, first.end_ns, text, 3, "", fact))
    return bars


def _added_arrow(finding: Finding, rows: Sequence[Operation]) -> list[Arrow]:
    if finding.mend.record_after is not None:
        return [Arrow("added", "record", "wait", str(finding.mend))]
    record = record_to_wait_for(finding, rows)
    return [Arrow("added", _key(record.ordinal), "wait", str(finding.mend))] if record is not None else []


def _event_arrows(rows: Sequence[Operation]) -> list[Arrow]:
    """From each record to the waits that it ends, on other streams."""
    records = {(row.event, row.generation): row for row in rows if row.kind == "record"}
    found: list[Arrow] = []
    for row in rows:
        record = records.get((row.event, row.generation)) if row.kind == "wait" else None
        if record is not None and record.stream != row.stream:
            found.append(Arrow("event", _key(record.ordinal), _key(row.ordinal), row.event))
    return found


def _lanes(rows: Iterable[Operation], race: Race) -> list[str]:
    """The racing streams first, the one that should wait last of the two."""
    own = [race.first.operation.stream, race.second.operation.stream]
    return list(dict.fromkeys([*own, *(row.stream for row in rows)]))


def _key(ordinal: int) -> str:
    return f"o{ordinal}"


def _within(lane: str, name: str) -> str:
    """A name without the part that it shares with its lane: `ring[0].layer[0]` of `prefill.r0` in `prefill.r0.load`."""
    shared = lane.rpartition(".")[0] + "."
    return name.removeprefix(shared)


def _host(thread: str) -> str:
    return f"thread {thread}"
