"""The timeline of a race in text: one column a stream, from the first of the two accesses to the last.

Owns: which rows are shown, and the columns. Does not own: the rest of the report. Floor 2b.
Source: facts/concurrency.md section 6 (layout).
"""

from __future__ import annotations

from typing import NamedTuple

from kernels.races.detector.race import Race
from kernels.substrate.trace import MemoryTrace, Operation

_COLUMN = 44


class _Moment(NamedTuple):
    time: int
    order: int
    operation: Operation
    text: str


def timeline(trace: MemoryTrace, race: Race, *, unit: str = "step") -> list[str]:
    """Lines: when the two accesses and the orders around them ran in `trace`, which is another run than the race's."""
    by_ordinal = {operation.ordinal: operation for operation in trace.operations}
    first = by_ordinal.get(race.first.operation.ordinal)
    second = by_ordinal.get(race.second.operation.ordinal)
    if first is None or second is None:
        return []
    beside = [*neighbours(trace, first), *neighbours(trace, second)]
    events = {order.event for order in beside}
    begin, end = min(first.start_ns, second.start_ns), max(first.end_ns, second.end_ns)
    lanes = [first.stream, second.stream]
    moments = _of_access(first, race.first.is_write, "") + _of_access(second, race.second.is_write, "   <-- X")
    for order in trace.operations:
        # Orders between the two accesses, and the ones that stand right beside them.
        is_near = begin <= order.end_ns <= end or order in beside
        if order.kind in ("record", "wait") and order.stream in lanes and order.event in events and is_near:
            text = f"#{order.ordinal} {order.kind} {order.event}"
            if order.kind == "wait" and not order.generation:
                text += " (bound to nothing)"
            moments.append(_Moment(order.end_ns, 0 if order.kind == "wait" else 2, order, text))
    lines = [f"{unit:>10}   {lanes[0]:<{_COLUMN}} {lanes[1]}"]
    for moment in sorted(moments, key=lambda one: (one.time, one.order)):
        left = moment.text if moment.operation.stream == lanes[0] else ""
        right = moment.text if moment.operation.stream == lanes[1] else ""
        lines.append(f"{moment.time:>10}   {left:<{_COLUMN}}|  {right}".rstrip())
    return lines


def _of_access(operation: Operation, is_write: bool, mark: str) -> list[_Moment]:
    if operation.start_ns == operation.end_ns:
        verb = "writes" if is_write else "READS"
        return [_Moment(operation.start_ns, 1, operation, f"#{operation.ordinal} {operation.label} {verb}{mark}")]
    return [
        _Moment(operation.start_ns, 1, operation, f"#{operation.ordinal} {operation.label} begins{mark}"),
        _Moment(operation.end_ns, 1, operation, f"#{operation.ordinal} {operation.label} ends"),
    ]


def neighbours(trace: MemoryTrace, operation: Operation) -> list[Operation]:
    """The records and waits that touch an operation on its stream, with no copy or kernel between."""
    lane = [other for other in trace.operations if other.stream == operation.stream]
    place = lane.index(operation)
    found: list[Operation] = []
    for step in (-1, 1):
        at = place + step
        while 0 <= at < len(lane) and lane[at].kind in ("record", "wait"):
            found.append(lane[at])
            at += step
    return found
