"""The detector: each edge of the event algebra by a race that it closes, and agreement with the slow reference.

Owns: order. Does not own: names of missing edges. Floor: tests. Source: ours.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.races.detector.detector import Detector, detect
from kernels.races.detector.footprint import ByteRanges, Footprints, intervals_of, page_mask
from kernels.races.detector.race import Verdict
from kernels.substrate.collector import page_bounds
from kernels.substrate.columns import PageLists
from kernels.substrate.trace import HostStep, MemoryTrace, Operation
from tests.races.counting import counted
from tests.races.reference_detector import reference_races
from tests.races.token_trace import token_trace

ORDERED = {
    "one stream": "L>k1 L<k1",
    "event": "L>k1 L!e C?e C<k1",
    "event over a third stream": "L>k1 L!e M?e M!f C?f C<k1",
    "stream order carries on": "L>k1 L!e C?e C>m1 C<k1",
    "record covers all before it": "L>k1 L>k2 L!e C?e C<k1 C<k2",
    "until in the issuing thread": "L>k1 L!e h~e C<k1",
    "query that said yes": "L>k1 L!e h=e C<k1",
    "wake hands on what the waker knew": "t@L>k1 t@L!e t~e t^u u@C<k1",
    "other pages": "L>k1:0-3 C<k1:4-7",
    "other layer": "L>k1 C<k2",
    "two reads": "L<k1 C<k1",
    "wait keeps its record when the event is recorded again": "L>k1 L!e C?e L>m1 L!e C<k1",
}

RACY = {
    "no event": "L>k1 C<k1",
    "read, then write": "C<k1 L>k1",
    "two writes": "L>k1 C>k1",
    "recorded before the write": "L!e L>k1 C?e C<k1",
    "waited after the read": "L>k1 L!e C<k1 C?e",
    "waited before it was recorded": "C?e L>k1 L!e C<k1",
    "another event": "L>k1 L!e L!f M!g C?g C<k1",
    "older record of the same event": "L>m1 L!e C?e L>k1 L!e C<k1",
    "query that said no": "L>k1 L!e h#e C<k1",
    "until in another thread": "L>k1 L!e t~e C<k1",
    "wake before the waker knew": "t@L>k1 t@L!e t^u t~e u@C<k1",
    "all layers against one": "B<k L>k3:0",
    "overlap of one page": "L>k1:0-3 C<k1:3-7",
}


@pytest.mark.parametrize("name", ORDERED)
def test_ordered_programs_are_clean(name: str) -> None:
    assert detect(token_trace(ORDERED[name])).verdict is Verdict.CLEAN


@pytest.mark.parametrize("name", RACY)
def test_racy_programs_are_found(name: str) -> None:
    detector = detect(token_trace(RACY[name]))
    assert detector.verdict is Verdict.RACES
    assert len({race.layer for race in detector.races}) == 1


def test_race_names_accesses_in_issue_order_whatever_order_they_were_reported_in() -> None:
    trace = token_trace("L>k1:0-3 C<k1:2-5")
    trace.rows.reverse()
    (race,) = detect(trace).races
    assert (race.first.operation.stream, race.second.operation.stream) == ("L", "C")
    assert race.kind == "write-read"
    assert race.intervals == ((2, 4),)


def test_operation_is_judged_by_what_its_thread_knew_when_it_issued_it() -> None:
    """The read was issued before the thread waited, but is reported after: the wait came too late for it."""
    trace = token_trace("L>k1 L!e C<k1 h~e")
    trace.rows.append(trace.rows.pop(-2))
    assert isinstance(trace.rows[-1], Operation)
    assert detect(trace).verdict is Verdict.RACES


STREAMS, EVENTS, THREADS = "ABC", "ef", "hu"

tokens = st.one_of(
    st.builds(
        lambda by, who, act, layer, begin, size: f"{by}@{who}{act}k{layer}:{begin}-{begin + size}",
        st.sampled_from(THREADS),
        st.sampled_from(STREAMS),
        st.sampled_from("<>"),
        st.sampled_from(["1", "2", ""]),
        st.integers(0, 4),
        st.integers(0, 2),
    ),
    st.builds(
        lambda by, who, act, event: f"{by}@{who}{act}{event}",
        st.sampled_from(THREADS),
        st.sampled_from(STREAMS),
        st.sampled_from("!?"),
        st.sampled_from(EVENTS),
    ),
    st.builds(
        lambda who, act, event: f"{who}{act}{event}",
        st.sampled_from(THREADS),
        st.sampled_from("~=#"),
        st.sampled_from(EVENTS),
    ),
    st.sampled_from(["h^u", "u^h"]),
)
programs = st.lists(tokens, max_size=30).map(" ".join)


@given(programs)
def test_agrees_with_the_reference(text: str) -> None:
    trace = token_trace(text)
    assert counted(detect(trace)) == reference_races(trace)


@given(programs, st.integers(0, 2**32 - 1))
def test_order_of_rows_does_not_matter_where_nothing_orders_them(text: str, seed: int) -> None:
    """Host steps come when they happen; operations may be reported any time later."""
    trace = token_trace(text)
    assert counted(detect(_delayed(trace, seed))) == reference_races(trace)


def _delayed(trace: MemoryTrace, seed: int) -> MemoryTrace:
    """Another order of the same rows that the trace's contract allows."""
    rng = np.random.default_rng(seed)
    late = MemoryTrace()
    late.buffers = trace.buffers
    waiting: list[Operation | HostStep] = list(trace.rows)
    made: set[tuple[str, int]] = set()
    while waiting:
        row = waiting.pop(int(rng.choice(_reportable(waiting, made))))
        late.rows.append(row)
        if row.kind == "record":
            made.add((row.event, row.generation))
    return late


def _reportable(waiting: list[Operation | HostStep], made: set[tuple[str, int]]) -> list[int]:
    """Rows that may come next: streams are in order, host steps too, and none is overtaken by what was issued later."""
    blocked: set[str] = set()
    ready: list[int] = []
    for index, row in enumerate(waiting):
        needs_record = row.kind in ("wait", "until", "query") and row.generation > 0
        is_ready = not needs_record or (row.event, row.generation) in made
        if isinstance(row, HostStep):
            if is_ready and "host" not in blocked:
                ready.append(index)
            blocked.add("host")
        else:
            if is_ready and not blocked & {"host", row.stream}:
                ready.append(index)
            blocked.add(row.stream)
    return ready


def test_unknown_where_the_trace_has_holes() -> None:
    trace = token_trace("L>k1 L!e C?e C<k1")
    del trace.rows[1]
    detector = detect(trace)
    assert detector.verdict is Verdict.UNKNOWN
    assert detector.problems[0].reason == "C waited for record 1 of e, which has not been made"


def test_unknown_where_an_access_is_outside_its_buffer() -> None:
    detector = detect(token_trace("L>k1:7-9"))
    assert detector.verdict is Verdict.UNKNOWN
    assert "L>k1:7-9" in detector.problems[0].reason


def test_many_regions_of_one_operation_are_one_race() -> None:
    trace = token_trace("L>k1:0 C<k1:0")
    read = trace.operations[1]
    read.accesses = read.accesses * 20
    (race,) = detect(trace).races
    assert race.intervals == ((0, 1),)
    assert race.repeats == 19


def test_what_repeats_on_the_same_pages_is_counted_and_kept_once() -> None:
    (race,) = detect(token_trace("L>k1:2 " * 50 + "C<k1:2-3 C<k1:2-3")).races
    assert race.repeats == 99
    assert [(one.first.place, one.second.place) for one in race.each()] == [(50, 1), (50, 2)]


@given(programs, st.sets(st.integers(0, 30)))
def test_looking_early_changes_nothing(text: str, looks: set[int]) -> None:
    """Each look has the rows so far judged, so what races across it is found across two lots of rows."""
    trace, detector = token_trace(text), Detector()
    for buffer in trace.buffers:
        detector.buffer(buffer)
    for at, row in enumerate(trace.rows):
        if at in looks:
            assert detector.row_count == len(trace.buffers) + at
            assert detector.verdict is not Verdict.UNKNOWN
        if isinstance(row, Operation):
            detector.operation(row)
        else:
            detector.host(row)
    assert counted(detector) == reference_races(trace)


def test_steps_that_are_told_too_late_are_unknown() -> None:
    trace = token_trace("L>k1 L!e h~e C<k1")
    trace.rows[2], trace.rows[3] = trace.rows[3], trace.rows[2]
    (problem,) = detect(trace).problems
    assert problem == (4, "a step of h that precedes it comes later")


@given(st.sets(st.integers(0, 300)))
def test_masks_and_intervals_are_two_forms_of_one_set(pages: set[int]) -> None:
    mask = page_mask(np.array(sorted(pages), dtype=np.int64))
    covered = {page for begin, end in intervals_of(mask) for page in range(begin, end)}
    assert covered == pages


intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)).map(lambda at: (at[0], sum(at))), max_size=6)


@given(intervals, intervals)
def test_byte_ranges_overlap_like_sets_of_bytes(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    def flat(ranges: list[tuple[int, int]] | tuple[tuple[int, int], ...]) -> set[int]:
        return {byte for begin, end in ranges for byte in range(begin, end)}

    assert flat((ByteRanges(ours) & ByteRanges(theirs)).intervals) == flat(ours) & flat(theirs)


page_sets = st.lists(st.sets(st.integers(0, 40), min_size=1, max_size=8), min_size=2, max_size=9)


@given(page_sets, st.booleans())
def test_lists_meet_like_sets(sets: list[set[int]], is_one_pair_at_a_time: bool) -> None:
    """All pairs at once are compared by masks, single ones by their intervals."""
    lists = PageLists()
    for pages in sets:
        lists.add(page_bounds(np.array(sorted(pages, key=lambda page: page * 7 % 41), np.int64)))
    lists.settle()
    footprints = Footprints(lists)
    pairs = [(a, b) for a in range(len(sets)) for b in range(len(sets))]
    near = [(a, b) for a, b in pairs if min(sets[a]) <= max(sets[b]) and min(sets[b]) <= max(sets[a])]
    ours, theirs = np.array(near, np.int64).T
    if is_one_pair_at_a_time:
        each = [footprints.meet(ours[at : at + 1], theirs[at : at + 1]) for at in range(len(near))]
        meets = np.concatenate(each)
    else:
        meets = footprints.meet(ours, theirs)
    assert meets.tolist() == [bool(sets[a] & sets[b]) for a, b in near]
