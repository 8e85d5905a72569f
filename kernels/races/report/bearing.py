"""Which operations of a trace bear on a race: the two accesses, their pages, and the orders around them.

Owns: that choice. Does not own: how they are drawn (`diagram`). Floor 2b.
Source: only what differs or decides is shown (Symbiosis, PLDI 2015); everything else is folded to a count.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.races.detector.race import Race
from kernels.races.naming.codes import Finding
from kernels.races.report.facts import touches
from kernels.races.report.timeline import neighbours
from kernels.substrate.trace import HostStep, MemoryTrace, Operation

ORDERS_SHOWN = 24
"""Records and waits of the events in question, between the two accesses, that are shown close up."""
TOUCHING_SHOWN = 4
"""Further operations on the racing pages that are shown close up."""


def bearing(trace: MemoryTrace, finding: Finding) -> set[int]:
    """Ordinals of what is shown close up; none where the two accesses are not both in this trace."""
    race, rows = finding.race, trace.operations
    racing = [row for row in rows if row.ordinal in racing_roles(race)]
    if len(racing) < 2:
        return set()
    keys = {row.ordinal for row in racing}
    for row in racing:
        keys |= {near.ordinal for near in neighbours(trace, row)}
    keys |= {row.ordinal for row in finding.evidence if isinstance(row, Operation)}
    touching = [row for row in rows if touches(row, race)]
    begin = min(begin_of(row) for row in racing)
    written = [row for row in touching if row.end_ns < begin and _writes(row, race.buffer)]
    between = [row for row in touching if begin_of(row) >= begin]
    # What was written last before is what a stale read sees.
    keys |= {row.ordinal for row in (*written[-1:], *between[:TOUCHING_SHOWN])}
    events = {row.event for row in rows if row.ordinal in keys and row.event} | {finding.mend.event}
    last = max(row.end_ns for row in rows if row.ordinal in keys)
    streams = {row.stream for row in racing}
    orders = [row for row in rows if row.event in events and row.stream in streams and begin <= row.end_ns <= last][
        :ORDERS_SHOWN
    ]
    keys |= {row.ordinal for row in orders}
    record = record_to_wait_for(finding, rows)
    if record is not None:
        keys.add(record.ordinal)
    return keys & {row.ordinal for row in rows}


def host_steps(trace: MemoryTrace, finding: Finding) -> list[HostStep]:
    """Where host threads looked at the event in question: what they learnt there, nobody else did."""
    evidence = [row for row in finding.evidence if isinstance(row, HostStep)]
    events = {finding.mend.event, *(step.event for step in evidence)}
    # A stored trace has been read near its race only, so the steps are those of the evidence.
    steps = trace.steps or evidence
    return [step for step in steps if step.kind in ("until", "query") and step.event in events][:ORDERS_SHOWN]


def record_to_wait_for(finding: Finding, rows: Sequence[Operation]) -> Operation | None:
    """The record that the wait to add would be bound to: the event's last before the access, in issue order."""
    if finding.mend.record_after is not None:
        return None
    limit = finding.race.second.operation.ordinal
    found = [row for row in rows if row.kind == "record" and row.event == finding.mend.event and row.ordinal < limit]
    return max(found, key=lambda row: row.ordinal, default=None)


def racing_roles(race: Race) -> dict[int, str]:
    return {side.operation.ordinal: "write" if side.is_write else "read" for side in (race.first, race.second)}


def _writes(row: Operation, buffer: str) -> bool:
    return any(is_write and region.buffer.name == buffer for is_write, region in row.accesses)


def begin_of(row: Operation) -> int:
    """An order is a moment: it is drawn where it ends."""
    return row.end_ns if row.kind in ("record", "wait") else row.start_ns
