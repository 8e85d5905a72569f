"""Traces of every kind of row with random footprints, and the same traces as a program of somebody else's writes them.

Owns: the strategy and the foreign lines. Does not judge. Floor: tests. Source: ours; the rows are docs/trace-format.md.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kernels.substrate.contract import Region
from kernels.substrate.trace import Access, HostStep, MemoryTrace, Operation, page_intervals
from tests.races.token_trace import Pool

LAYERS, PAGES = 4, 12
THREADS, STREAMS, EVENTS, BUFFERS = "hu", "ABC", "ef", "kv"

_accesses = st.lists(
    st.tuples(
        st.booleans(),
        st.sampled_from(BUFFERS),
        st.lists(st.integers(0, LAYERS - 1), min_size=1, max_size=3, unique=True),
        st.lists(st.integers(0, PAGES - 1), min_size=1, max_size=6, unique=True),
    ),
    min_size=1,
    max_size=3,
)
_rows = st.one_of(
    st.tuples(st.just("kernel"), st.sampled_from(THREADS), st.sampled_from(STREAMS), _accesses),
    st.tuples(st.just("touch"), st.sampled_from(THREADS), _accesses),
    st.tuples(st.sampled_from(("alloc", "free")), st.sampled_from(THREADS), st.sampled_from(BUFFERS)),
    st.tuples(
        st.sampled_from(("record", "wait")),
        st.sampled_from(THREADS),
        st.sampled_from(STREAMS),
        st.sampled_from(EVENTS),
    ),
    st.tuples(st.sampled_from(("until", "query")), st.sampled_from(THREADS), st.sampled_from(EVENTS), st.booleans()),
    st.tuples(st.sampled_from(("wake", "spawn")), st.sampled_from(THREADS)),
)


@st.composite
def random_traces(draw: st.DrawFn) -> MemoryTrace:
    """Some thirty rows. What a host thread does itself stands on a stream called `host NAME`."""
    trace = MemoryTrace()
    pools = {name: Pool(name, layer_count=LAYERS, page_count=PAGES) for name in BUFFERS}
    for pool in pools.values():
        trace.buffer(pool)
    generations: dict[str, int] = {}
    wakes = 0
    drawn: list[tuple[Any, ...]] = draw(st.lists(_rows, max_size=24))
    for number, (kind, thread, *rest) in enumerate(drawn, start=1):
        operation = Operation(number, "kernel", f"host {thread}", thread, f"{kind} of {thread}", 10 * number)
        operation.start_ns = operation.end_ns = 10 * number
        if kind == "kernel":
            operation.stream, operation.accesses = rest[0], _made(rest[1], pools)
        elif kind == "touch":
            operation.accesses = _made(rest[0], pools)
        elif kind in ("alloc", "free"):
            every = [(True, rest[0], list(range(LAYERS)), list(range(PAGES)))]
            operation.label, operation.accesses = kind, _made(every, pools)
        elif kind in ("record", "wait"):
            operation.kind, operation.stream, operation.event = kind, *rest
            generations[rest[1]] = generations.get(rest[1], 0) + (kind == "record")
            operation.generation = generations[rest[1]]
        else:
            other = "u" if thread == "h" else "h"
            event = {"event": rest[0], "generation": generations.get(rest[0], 0)} if len(rest) == 2 else {}
            answer = kind == "until" or bool(rest and rest[-1])
            wakes += kind == "wake"
            numbers = (wakes,) if kind == "wake" else ()
            step: dict[str, Any] = {**event, "issued": number, "wakes": numbers, "answer": answer or not event}
            trace.host(HostStep(kind, thread, 10 * number, other="" if event else other, **step))
            if kind == "wake":
                trace.host(HostStep("park", other, 10 * number, wakes=numbers, issued=number))
            continue
        trace.operation(operation)
    return trace


def _made(drawn: list[tuple[bool, str, list[int], list[int]]], pools: dict[str, Pool]) -> tuple[Access, ...]:
    return tuple(
        (is_write, Region(pools[buffer], tuple(layers), np.array(pages, np.int64)))
        for is_write, buffer, layers, pages in drawn
    )


def foreign_lines(trace: MemoryTrace, *, by_bytes: bool) -> list[bytes]:
    """The trace as JSON Lines. by_bytes: each layer of a page stands for one byte of a buffer without layers."""
    rows: list[dict[str, Any]] = [{"row": "header", "format": "kvrace-trace/1"}]
    for pool in trace.buffers:
        size = {"bytes": LAYERS * PAGES} if by_bytes else {"layers": LAYERS, "pages": PAGES, "page_bytes": 64}
        rows.append({"row": "buffer", "name": pool.name, "space": pool.space, **size})
    for row in trace.rows:
        rows.append(_operation(row, by_bytes) if isinstance(row, Operation) else _step(row))
    rows.append({"row": "end", "rows": len(rows)})
    return [json.dumps(row).encode() + b"\n" for row in rows]


def _operation(operation: Operation, by_bytes: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"op": operation.ordinal, "thread": operation.thread, "label": operation.label}
    accesses = [
        {"mode": "write" if is_write else "read", "buffer": region.buffer.name, **_where(region, by_bytes)}
        for is_write, region in operation.accesses
    ]
    if operation.label in ("alloc", "free"):
        return {**row, **accesses[0], "row": operation.label, "time": operation.start_ns}
    if operation.stream.startswith("host "):
        return {**row, "row": "touch", "time": operation.start_ns, "accesses": accesses}
    row |= {"row": operation.kind, "stream": operation.stream, "issue": operation.issue_ns}
    if operation.kind in ("record", "wait"):
        return {**row, "event": operation.event, "generation": operation.generation}
    return {**row, "accesses": accesses}


def _where(region: Region, by_bytes: bool) -> dict[str, Any]:
    if not by_bytes:
        return {"layers": list(region.layers), "pages": page_intervals(region.pages)}
    bytes_ = [layer * PAGES + page for layer in region.layers for page in region.pages.tolist()]
    return {"bytes": page_intervals(np.array(bytes_, np.int64))}


def _step(step: HostStep) -> dict[str, Any]:
    row: dict[str, Any] = {"row": step.kind, "thread": step.thread, "time": step.time_ns, "issued": step.issued}
    row |= {"event": step.event, "generation": step.generation} if step.event else {}
    row |= {"other": step.other} if step.other else {}
    return {**row, "answer": step.answer, "wakes": list(step.wakes)}
