"""A trace for Perfetto and chrome://tracing: streams as tracks, events as arrows, the missing order in red.

Owns: the Chrome trace-event form. Does not own: which trace is drawn. Floor 2b.
Source: the Trace Event Format (JSON object form): `X` spans, `s`/`f` flows, `M` names; times in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernels.races.detector.race import Race
from kernels.substrate.trace import MemoryTrace, Operation

_RED = "terrible"
"""The reserved colour name of the viewers."""


def chrome_trace(trace: MemoryTrace, races: Sequence[Race] = (), *, ns_per_unit: int = 1_000) -> dict[str, Any]:
    """The object to write as JSON.

    ns_per_unit: nanoseconds of the trace in one microsecond of the picture; 1 draws traces that count steps.
    """
    lanes = {name: index for index, name in enumerate(dict.fromkeys(row.stream for row in trace.operations), start=1)}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": index, "args": {"name": name}}
        for name, index in lanes.items()
    ]
    sides = [side for race in races for side in (race.first, race.second)]
    racing = {side.operation.ordinal: "write" if side.is_write else "read" for side in sides}
    records: dict[tuple[str, int], Operation] = {}
    for row in trace.operations:
        events.append(_span(row, lanes[row.stream], racing, ns_per_unit))
        if row.kind == "record":
            records[row.event, row.generation] = row
        elif row.kind == "wait" and row.generation:
            record = records.get((row.event, row.generation))
            if record is not None:
                events += _flow(len(events), row.event, record, row, lanes, ns_per_unit)
    by_ordinal = {row.ordinal: row for row in trace.operations}
    for race in races:
        first, second = (by_ordinal.get(side.operation.ordinal) for side in (race.first, race.second))
        if first is not None and second is not None:
            events += _flow(len(events), f"MISSING ORDER {race.buffer}", first, second, lanes, ns_per_unit)
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _span(row: Operation, lane: int, racing: dict[int, str], ns_per_unit: int) -> dict[str, Any]:
    begin, end = row.start_ns / ns_per_unit, row.end_ns / ns_per_unit
    span: dict[str, Any] = {
        "ph": "X",
        "name": row.label,
        "cat": row.kind,
        "pid": 1,
        "tid": lane,
        "ts": begin,
        # A span without length cannot be seen, nor can an arrow be fastened to it.
        "dur": max(end - begin, 0.5 if row.kind in ("record", "wait") else 0.8),
        "args": {"operation": row.ordinal, "thread": row.thread, "site": row.site, "touches": _touches(row)},
    }
    if row.ordinal in racing:
        span["cname"] = _RED
        span["args"]["race"] = racing[row.ordinal]
    return span


def _touches(row: Operation) -> list[str]:
    return [
        f"{'writes' if is_write else 'reads'} {region.buffer.name} layers {list(region.layers)} pages "
        f"{region.pages.tolist()}"
        for is_write, region in row.accesses
    ]


def _flow(
    number: int, name: str, source: Operation, target: Operation, lanes: dict[str, int], ns_per_unit: int
) -> list[dict[str, Any]]:
    tail = {"name": name, "cat": "order", "id": number, "pid": 1}
    if name.startswith("MISSING"):
        tail["cname"] = _RED
    return [
        {**tail, "ph": "s", "tid": lanes[source.stream], "ts": source.start_ns / ns_per_unit},
        {**tail, "ph": "f", "bp": "e", "tid": lanes[target.stream], "ts": target.start_ns / ns_per_unit},
    ]
