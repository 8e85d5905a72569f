"""The diagram as data and in pixels: what is shown, what is folded, which arrows join which bars.

Owns: `report.diagram`, `bearing`, `drawing`, `stored`. Floor: tests. Source: facts/concurrency.md sections 4 and 6.
"""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from kernels.races.detector.detector import detect
from kernels.races.detector.reading import judge_lines
from kernels.races.naming.naming import name_all
from kernels.races.report.diagram import WHOLE_MAX, Bar, Diagram, Kind, close_up, marked, whole
from kernels.races.report.drawing import Drawing, drawn
from kernels.races.report.stored import NEAR, near_races
from kernels.races.report.text import predicted_text
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.explore import explore
from kernels.races.search.mending import Edge, with_edges
from kernels.races.search.replay import run_token
from kernels.races.search.result import RaceReport
from kernels.races.search.tokens import Token
from kernels.substrate.contract import Machine, Region
from tests.races import programs
from tests.races.token_trace import token_trace


def report_of(program: Program) -> RaceReport:
    (report,) = explore(program, budget=100, mend_schedules=0, has_call_sites=True).races
    return report


def picture(report: RaceReport) -> Diagram:
    assert report.trace is not None
    diagram = close_up(report.trace, report.group.shown, report.effect.stale if report.effect else ())
    assert diagram is not None
    return diagram


def busy(machine: Machine) -> None:
    """Layer 3 is read without its wait, among kernels that touch nothing that is loaded."""
    host, device = programs.pools(machine, 4)
    own = machine.buffer("own", space="device:0", layer_count=1, page_count=1, page_bytes=64)
    loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    done = [machine.event(f"done[{layer}]") for layer in range(4)]
    for layer in range(4):
        programs.load(loading, host, device, layer)
        loading.record(done[layer])
    for layer in range(4):
        for number in range(5):
            region = Region(own, (0,), np.array([0], dtype=np.int64))
            compute.launch(f"local[{layer}.{number}]", duration_ns=1, point="compute.layer", reads=[region])
        if layer != 3:
            compute.wait(done[layer])
        programs.read(compute, device, layer)


def test_missing_order_joins_the_two_racing_bars_from_the_write_to_the_read() -> None:
    diagram = picture(report_of(busy))
    (missing,) = [arrow for arrow in diagram.arrows if arrow.kind == "missing"]
    bars = {bar.key: bar for bar in diagram.bars}
    source, target = bars[missing.source], bars[missing.target]
    assert (source.lane, source.kind, source.role) == ("load", Kind.COPY, "write")
    assert (target.lane, target.kind, target.role) == ("compute", Kind.KERNEL, "read stale")
    assert source.text.endswith("load[layer 3]")
    assert target.text.endswith("read[layer 3]")
    assert target.begin < source.begin, "this is the order that fails"


def test_wait_to_add_is_drawn_from_the_covering_record_to_the_front_of_the_read() -> None:
    diagram = picture(report_of(busy))
    (added,) = [arrow for arrow in diagram.arrows if arrow.kind == "added"]
    bars = {bar.key: bar for bar in diagram.bars}
    assert bars[added.source].text.endswith("record done[3]")
    assert bars[added.target].kind is Kind.ADDED
    boxes = {box.bar.key: box for box in drawn(diagram, "step").boxes}
    read = next(box for box in boxes.values() if box.bar.role == "read stale")
    assert boxes[added.target].y < read.y


EIGHT = {
    "MISSING_WAIT": "L>k7 L!e7 | C<k7",
    "LATE_WAIT": "L>k6 L>i6 L!e6 L>k7 L>i7 L!e7 | C?e6 C<i6 C?e6 C<k6 C<i7 C?e7 C<k7",
    "WRONG_EVENT": "L>m1 L!e C?e L>k7 L!e C<k7",
    "MISSING_RECORD": "L>k7 | C<k7",
    "EARLY_RECORD": "L!e6 L>k6 L!e7 L>k7 | C?e7 C<k7",
    "UNARMED_WAIT": "C?e7 L>k7 L!e7 | C<k7",
    "WRONG_THREAD": "L>k7 L!e7 D?e7 | C<k7",
    "REUSE_BEFORE_COMPLETION": "C<k7 C!r | L>k7",
}


@pytest.mark.parametrize("code", EIGHT)
def test_every_named_order_has_one_missing_arrow_and_one_to_add(code: str) -> None:
    trace = token_trace(EIGHT[code])
    detector = detect(trace)
    (group,) = name_all(detector)
    assert group.shown.code == code
    diagram = picture(RaceReport(group, detector, trace=trace))
    kinds = [arrow.kind for arrow in diagram.arrows]
    assert (kinds.count("missing"), kinds.count("added")) == (1, 1)
    waits = [bar for bar in diagram.bars if bar.kind is Kind.ADDED and bar.text.startswith("+ wait")]
    assert [bar.lane for bar in waits] == [group.shown.mend.stream]
    records = [bar for bar in diagram.bars if bar.kind is Kind.ADDED and bar.text.startswith("+ record")]
    assert len(records) == (group.shown.mend.record_after is not None)


def test_host_thread_that_waits_instead_is_a_lane_with_an_arrow_from_the_record() -> None:
    diagram = picture(report_of(programs.other_thread_waits))
    (step,) = [bar for bar in diagram.bars if bar.kind is Kind.HOST]
    bars = {bar.key: bar for bar in diagram.bars}
    (arrow,) = [arrow for arrow in diagram.arrows if arrow.target == step.key]
    assert step.text == "waits done[0]"
    assert bars[arrow.source].text.endswith("record done[0]")
    launching = next(bar.lane for bar in diagram.bars if bar.kind is Kind.ISSUE and "read" in bar.text)
    assert step.lane != launching
    assert {step.lane, launching} <= set(diagram.lanes[: diagram.host_count])


def test_operations_on_other_pages_are_folded_and_counted() -> None:
    report = report_of(busy)
    diagram = picture(report)
    assert report.trace is not None
    shown = [bar for bar in diagram.bars if bar.kind in (Kind.COPY, Kind.KERNEL, Kind.RECORD, Kind.WAIT)]
    assert not any("local" in bar.text for bar in shown)
    folded = sum(int(bar.text.split()[0]) for bar in diagram.bars if bar.kind is Kind.FOLD)
    left_out = int(diagram.hidden.split()[0]) if diagram.hidden else 0
    assert len(shown) + folded + left_out == len(report.trace.operations)


def test_every_operation_is_in_the_whole_and_too_many_are_no_picture() -> None:
    report = report_of(busy)
    assert report.trace is not None
    diagram = whole(report.trace, report.group.shown)
    assert diagram is not None
    assert {bar.key for bar in diagram.bars} >= {f"o{row.ordinal}" for row in report.trace.operations}
    assert len([arrow for arrow in diagram.arrows if arrow.kind == "event"]) == 3
    long = explore(programs.last_ungated(1 + WHOLE_MAX // 3), budget=1, mend_schedules=0).races[0]
    assert long.trace is not None
    assert len(long.trace.operations) > WHOLE_MAX
    assert whole(long.trace, long.group.shown) is None


def test_host_lane_shows_that_the_write_was_issued_first() -> None:
    diagram = picture(report_of(busy))
    assert not [bar for bar in diagram.bars if bar.kind is Kind.HOST]
    first, second = [bar for bar in diagram.bars if bar.kind is Kind.ISSUE]
    assert diagram.lanes[0] == first.lane == second.lane
    assert diagram.host_count == 1
    assert ("load[layer 3]" in first.text, "read[layer 3]" in second.text) == (True, True)
    assert first.begin < second.begin


@pytest.mark.parametrize("program", [busy, programs.gate_one_short(3), programs.last_ungated(3), programs.ungated(2)])
def test_bars_of_a_lane_never_overlap_and_rows_follow_time(program: Program) -> None:
    report = report_of(program)
    assert report.trace is not None
    everything = whole(report.trace, report.group.shown)
    assert everything is not None
    for diagram in (picture(report), everything):
        drawing = drawn(diagram, "step")
        _check_lanes(drawing)
        by_time = sorted(drawing.boxes, key=lambda box: box.bar.begin)
        for earlier, later in pairwise(by_time):
            assert earlier.y < later.y or earlier.bar.begin == later.bar.begin or earlier.y == later.y


def test_what_follows_at_the_time_at_which_a_kernel_ends_stands_below_it() -> None:
    kernel, wait = Bar("k", Kind.KERNEL, "s", 10, 20, "kernel"), Bar("w", Kind.WAIT, "s", 20, 20, "wait", phase=1)
    drawing = drawn(Diagram(("s",), 0, (kernel, wait), ()), "ns")
    _check_lanes(drawing)
    above, below = (next(box.y for box in drawing.boxes if box.bar is bar) for bar in (kernel, wait))
    assert above < below


def _check_lanes(drawing: Drawing) -> None:
    for column in drawing.columns:
        boxes = sorted((box for box in drawing.boxes if box.bar.lane == column.name), key=lambda box: box.y)
        for upper, lower in pairwise(boxes):
            assert upper.y + upper.height < lower.y, f"{upper.bar.text} lies over {lower.bar.text}"
        assert all(column.x <= box.x and box.x + box.width <= column.x + column.width for box in boxes)


def test_added_wait_is_marked_in_the_mended_order_and_nothing_else() -> None:
    program = programs.last_ungated(3)
    edge = Edge("compute", 5, "done[2]")
    plan = Plan(with_edges(program, (edge,)))
    run = run_token(plan, Token(plan.hash))
    assert not run.detector.races
    diagram = marked(run.trace, (edge,))
    assert diagram is not None
    assert [bar.text.partition(" ")[2] for bar in diagram.bars if bar.kind is Kind.ADDED] == ["wait done[2]"]
    plain = marked(run.trace, ())
    assert plain is not None
    assert not [bar for bar in plain.bars if bar.kind is Kind.ADDED]


def stored(far: int) -> list[bytes]:
    """A stored trace with a race on bytes, far behind operations that have nothing to do with it."""
    rows: list[dict[str, object]] = [{"row": "header", "format": "kvrace-trace/1"}]
    rows += [{"row": "buffer", "name": name, "space": "device:0", "bytes": 4096} for name in ("raced", "other")]

    def operation(op: int, kind: str, stream: str, mode: str, buffer: str, **more: object) -> None:
        access = {"mode": mode, "buffer": buffer, "bytes": [[64, 128]]}
        times = {"issue": op, "start": op * 10, "end": op * 10 + 5}
        row = {"row": kind, "op": op, "stream": stream, "thread": "main", "label": f"{kind} {op}"}
        rows.append({**row, **times, "accesses": [access], **more})

    for op in range(1, far + 1):
        operation(op, "kernel", "compute", "read", "other")
    operation(far + 1, "copy", "load", "write", "raced", site="loader.py:7 in load")
    sites = ["pool.py:3 in get < model.py:9 in layer"]
    operation(far + 2, "kernel", "compute", "read", "raced", site="model.py:9 in layer", access_sites=sites)
    rows.append({"row": "end", "rows": len(rows)})
    return [json.dumps(row).encode() for row in rows]


def test_stored_trace_is_looked_at_again_near_its_race_only() -> None:
    lines = stored(1_000)
    detector = judge_lines(lines)
    (group,) = name_all(detector)
    (trace,) = near_races(lines, [group])
    assert len(trace.operations) == NEAR + 2
    report = RaceReport(group, detector, trace=trace)
    text = predicted_text(report)
    assert "pool.py:3 in get < model.py:9" in text
    assert "wait in get, pool.py:3" in text
    diagram = picture(report)
    assert {bar.role for bar in diagram.bars if bar.role} == {"read", "write"}
    facts = [fact.text for bar in diagram.bars if bar.role == "read" for fact in bar.facts]
    assert "raced bytes [64, 128)" in facts
    assert drawn(diagram, "ns").ticks[0].text == "0.00"
