"""The trace: digests, the text format, the order of rows, call sites."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.substrate.contract import HostProgram, Park, Query, Sleep, Stream, Until
from kernels.substrate.cost_file import load_cost_model
from kernels.substrate.delays import parse_delay
from kernels.substrate.trace import DigestTrace, HostStep, MemoryTrace, Operation, Tee, TraceSink, page_intervals
from kernels.substrate.trace_json import FORMAT, JsonLinesTrace
from kernels.substrate.virtual.machine import VirtualMachine
from tests.substrate.plain import plain_machine, region, write

PAGES = range(3, 9)


def busy_machine(trace: TraceSink, *, seed: int = 0, has_call_sites: bool = False) -> VirtualMachine:
    """Loads, stale reads, events, polling and wakes, on a machine with real costs and jitter."""
    machine = VirtualMachine(
        load_cost_model(),
        seed=seed,
        trace=trace,
        delays=[parse_delay("h2d.index_k=lognormal:200us,0.5@1")],
        has_call_sites=has_call_sites,
    )
    host = machine.buffer("host", space="host", layer_count=2, page_count=16, page_bytes=8_448)
    device = machine.buffer("device", space="device:0", layer_count=2, page_count=16, page_bytes=8_448)
    load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    loaded = machine.event("loaded")

    def scheduler() -> HostProgram:
        writes = [write(device, PAGES, 1, [0, 1])]
        compute.launch("write", duration_ns=100, point="compute.layer", writes=writes)
        compute.record(loaded)
        load.wait(loaded)
        load.copy(region(device, PAGES, [0, 1]), region(host, PAGES, [0, 1]), point="d2h.backup", label="backup")
        for layer in (0, 1):
            source, target = region(host, PAGES, [layer]), region(device, [1, 2, 9, 10, 11, 0], [layer])
            load.copy(source, target, point="h2d.index_k", label=f"index_k[{layer}]", layer=layer)
            compute.launch(
                f"indexer[{layer}]",
                duration_ns=9_000,
                read_ns=9_000,
                point="compute.indexer",
                reads=[target],
                layer=layer,
            )
        load.record(loaded)
        while not (yield Query(loaded)):
            yield Sleep(50_000)
        other.wake()
        yield Until(loaded)

    def sleeper() -> HostProgram:
        yield Park()

    other = machine.spawn("sleeper", sleeper())
    machine.spawn("scheduler", scheduler())
    machine.run()
    return machine


def digest(seed: int) -> str:
    trace = DigestTrace()
    busy_machine(trace, seed=seed)
    return trace.hexdigest()


def test_one_seed_one_digest_another_seed_another() -> None:
    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_looking_at_a_digest_early_does_not_change_it() -> None:
    trace = DigestTrace()
    for ordinal in range(2_500):
        trace.operation(Operation(ordinal, "kernel", "s", "t", "k", 0))
        if ordinal in (0, 700, 2_000):
            trace.hexdigest()
    quiet = DigestTrace()
    for ordinal in range(2_500):
        quiet.operation(Operation(ordinal, "kernel", "s", "t", "k", 0))
    assert trace.hexdigest() == quiet.hexdigest()
    assert quiet.row_count == 2_500


def test_every_field_of_a_row_is_in_the_digest() -> None:
    machine = plain_machine()
    pool = machine.buffer("pool", space="device:0", layer_count=2, page_count=4, page_bytes=1)
    rows: list[Operation] = [
        Operation(1, "copy", "s", "t", "l", 5),
        Operation(2, "copy", "s", "t", "l", 5),
        Operation(1, "kernel", "s", "t", "l", 5),
        Operation(1, "copy", "s2", "t", "l", 5),
        Operation(1, "copy", "s", "t2", "l", 5),
        Operation(1, "copy", "s", "t", "l2", 5),
        Operation(1, "copy", "s", "t", "l", 6),
        Operation(1, "copy", "s", "t", "l", 5, point="p"),
        Operation(1, "copy", "s", "t", "l", 5, layer=0),
        Operation(1, "copy", "s", "t", "l", 5, delay_ns=1),
        Operation(1, "copy", "s", "t", "l", 5, io="direct"),
        Operation(1, "copy", "s", "t", "l", 5, event="e"),
        Operation(1, "copy", "s", "t", "l", 5, generation=1),
        Operation(1, "copy", "s", "t", "l", 5, start_ns=1),
        Operation(1, "copy", "s", "t", "l", 5, end_ns=1),
        Operation(1, "copy", "s", "t", "l", 5, accesses=((False, region(pool, [1, 2])),)),
        Operation(1, "copy", "s", "t", "l", 5, accesses=((True, region(pool, [1, 2])),)),
        Operation(1, "copy", "s", "t", "l", 5, accesses=((True, region(pool, [2, 1])),)),
        Operation(1, "copy", "s", "t", "l", 5, accesses=((True, region(pool, [1, 2], [1])),)),
    ]
    digests = set()
    for row in rows:
        trace = DigestTrace()
        trace.operation(row)
        digests.add(trace.hexdigest())
    for step in (
        HostStep("query", "t", 1),
        HostStep("query", "t", 1, answer=False),
        HostStep("park", "t", 1, wakes=(1,)),
    ):
        trace = DigestTrace()
        trace.host(step)
        digests.add(trace.hexdigest())
    assert len(digests) == len(rows) + 3


def test_rows_as_text() -> None:
    out = io.BytesIO()
    trace = JsonLinesTrace(out, program="test", seed=4)
    memory = MemoryTrace()
    busy_machine(Tee([trace, memory]), seed=4)
    trace.finish()
    rows = [orjson.loads(line) for line in out.getvalue().splitlines()]
    assert rows[0] == {"row": "header", "format": FORMAT, "time_unit": "ns", "program": "test", "seed": 4}
    assert rows[1] == {
        "row": "buffer",
        "name": "host",
        "space": "host",
        "layers": 2,
        "pages": 16,
        "page_bytes": 8_448,
    }
    assert rows[-1] == {"row": "end", "rows": len(rows) - 1}
    operations = [row for row in rows if "op" in row and row["row"] != "stale"]
    assert [row["op"] for row in operations] == [row.ordinal for row in memory.operations]
    (load,) = [row for row in rows if row.get("label") == "index_k[1]"]
    assert load["accesses"] == [
        {"mode": "read", "buffer": "host", "layers": [1], "pages": [[3, 9]]},
        {"mode": "write", "buffer": "device", "layers": [1], "pages": [[1, 3], [9, 12], [0, 1]]},
    ]
    assert (load["row"], load["stream"], load["thread"], load["point"]) == ("copy", "load", "scheduler", "h2d.index_k")
    assert load["layer"] == 1
    assert load["delay"] > 0
    assert load["end"] > load["start"] >= load["issue"]
    wait = next(row for row in rows if row["row"] == "wait")
    assert (wait["stream"], wait["event"], wait["generation"]) == ("load", "loaded", 1)
    answers = [row["answer"] for row in rows if row["row"] == "query"]
    assert answers == [False] * (len(answers) - 1) + [True]
    assert len(answers) > 1
    assert [(row["other"], row["wakes"]) for row in rows if row["row"] == "wake"] == [("sleeper", [1])]
    assert [row["wakes"] for row in rows if row["row"] == "park"] == [[1]]


def test_host_steps_say_what_had_been_issued_when_they_were_over() -> None:
    trace = MemoryTrace()
    machine = plain_machine(trace=trace)
    stream, event = machine.stream("s", device=0), machine.event("e")

    def program() -> HostProgram:
        stream.launch("before", duration_ns=10, point="compute.layer")
        stream.record(event)
        stream.launch("long", duration_ns=1_000, point="compute.layer")
        yield Until(event)
        stream.launch("after", duration_ns=10, point="compute.layer")

    machine.spawn("host", program())
    machine.run()
    labels = {row.label: row.ordinal for row in trace.operations}
    (until,) = [step for step in trace.steps if step.kind == "until"]
    assert labels["long"] <= until.issued < labels["after"]
    assert [(step.kind, step.issued) for step in trace.steps] == [("spawn", 0), ("until", 3), ("exit", 4)]


def test_the_example_in_the_documentation_has_the_fields_that_are_written() -> None:
    page = (Path(__file__).parents[2] / "docs" / "trace-format.md").read_text(encoding="utf-8")
    example = [orjson.loads(line) for line in page.partition("```json\n")[2].partition("```")[0].splitlines()]
    out = io.BytesIO()
    trace = JsonLinesTrace(out)
    busy_machine(trace)
    trace.finish()
    fields = {row["row"]: set(row) for row in map(orjson.loads, out.getvalue().splitlines())}
    assert [row["row"] for row in example] == ["header", "buffer", "copy", "record", "end"]
    for row in example:
        assert set(row) == fields[row["row"]]
    assert example[-1]["rows"] == len(example) - 1
    for kind, names in fields.items():
        assert all(f"`{name}`" in page for name in {kind, *names}), kind


def test_a_stale_read_is_a_row_of_its_own() -> None:
    out = io.BytesIO()
    memory = MemoryTrace()
    busy_machine(Tee([JsonLinesTrace(out), memory]))
    stale = [orjson.loads(line) for line in out.getvalue().splitlines() if b'"row":"stale"' in line]
    assert [row["op"] for row in stale] == [row.operation.ordinal for row in memory.stale_rows]
    assert stale[0]["buffer"] == "device"
    # The backup has not ended when the indexer reads layer 0: no page has arrived, all hold what was never written.
    assert stale[0]["pages"] == [[0, page, 1, 0, 0, 1.0] for page in (1, 2, 9, 10, 11, 0)]
    assert all((row.view.late_ns > 0).all() for row in memory.stale_rows)


def test_call_sites_are_where_the_host_issued_the_work() -> None:
    trace = MemoryTrace()
    busy_machine(trace, has_call_sites=True)
    assert {row.site.partition(":")[0] for row in trace.operations} == {"tests/substrate/test_trace.py"}
    assert len({row.site for row in trace.operations}) == 7
    bare = MemoryTrace()
    busy_machine(bare)
    assert {row.site for row in bare.operations} == {""}


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 30), max_size=20))
def test_intervals_cover_the_walk_and_nothing_else(pages: list[int]) -> None:
    intervals = page_intervals(np.asarray(pages, dtype=np.int64))
    assert [page for begin, end in intervals for page in range(begin, end)] == pages


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from("ABC"), st.sampled_from(["copy", "kernel", "rec", "wait"]))), st.booleans())
def test_rows_come_after_everything_that_happens_before_them(
    words: Sequence[tuple[str, str]], is_threaded: bool
) -> None:
    trace = MemoryTrace()
    machine = VirtualMachine(load_cost_model(), trace=trace)
    host = machine.buffer("host", space="host", layer_count=1, page_count=4, page_bytes=8_448)
    device = machine.buffer("device", space="device:0", layer_count=1, page_count=4, page_bytes=8_448)
    streams: dict[str, Stream] = {name: machine.stream(name, device=0) for name in "ABC"}
    event = machine.event("e")

    def program() -> HostProgram:
        for name, verb in words:
            if verb == "copy":
                streams[name].copy(region(host, range(4)), region(device, range(4)), point="h2d.c4", label="copy")
            elif verb == "kernel":
                streams[name].launch("kernel", duration_ns=20_000, point="compute.layer")
            elif verb == "rec":
                streams[name].record(event)
            else:
                streams[name].wait(event)
                if is_threaded:
                    yield Until(event)
        yield Sleep(0)

    machine.spawn("host", program())
    machine.run()
    last_in_stream: dict[str, int] = {}
    records: set[int] = set()
    for row in trace.rows:
        if isinstance(row, Operation):
            assert row.ordinal > last_in_stream.get(row.stream, 0)
            last_in_stream[row.stream] = row.ordinal
            if row.kind == "record":
                records.add(row.generation)
            elif row.kind == "wait":
                assert row.generation == 0 or row.generation in records
        elif row.kind == "until":
            assert row.generation == 0 or row.generation in records
