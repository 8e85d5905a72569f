"""Every kind of row and of footprint: the detector agrees with the slow reference, whatever form the trace comes in.

Owns: agreement. Does not own: single edges (`test_detector.py`), broken files. Floor: tests. Source: ours.
"""

from __future__ import annotations

import io
from collections import Counter

from hypothesis import given, settings

from kernels.races.detector.detector import Detector
from kernels.races.detector.reading import judge_lines
from kernels.races.detector.stored import judge_file, to_columns, to_lines
from kernels.substrate.trace import MemoryTrace
from tests.races.counting import counted
from tests.races.random_traces import foreign_lines, random_traces
from tests.races.reference_detector import reference_races


@given(random_traces())
def test_lines_and_columns_agree_with_the_reference(trace: MemoryTrace) -> None:
    lines, expected = foreign_lines(trace, by_bytes=False), reference_races(trace)
    assert counted(judge_lines(lines)) == expected
    columns = io.BytesIO()
    assert to_columns(lines, columns) is None
    columns.seek(0)
    detector = judge_file(columns)
    assert detector.problems == []
    assert counted(detector) == expected
    assert _shown(detector) == _shown(judge_lines(lines))


@given(random_traces())
def test_ranges_of_bytes_race_where_pages_do(trace: MemoryTrace) -> None:
    expected = {(buffer, sides) for buffer, _, sides in reference_races(trace)}
    found = {(buffer, sides) for buffer, _, sides in counted(judge_lines(foreign_lines(trace, by_bytes=True)))}
    assert found == expected


@settings(max_examples=40)
@given(random_traces())
def test_there_and_back_is_the_same_verdict_on_the_same_rows(trace: MemoryTrace) -> None:
    for by_bytes in (False, True):
        lines = foreign_lines(trace, by_bytes=by_bytes)
        once, back, twice = io.BytesIO(), io.BytesIO(), io.BytesIO()
        assert to_columns(lines, once) is None
        once.seek(0)
        assert to_lines(once, back) is None
        returned = back.getvalue().splitlines(keepends=True)
        assert len(returned) == len(lines)
        assert counted(judge_lines(returned)) == counted(judge_lines(lines))
        assert to_columns(returned, twice) is None
        assert twice.getvalue() == once.getvalue()


def test_the_strategy_makes_races_and_orders() -> None:
    """Agreement on traces that are all clean, or all racy, would say little."""
    seen: Counter[bool] = Counter()

    @settings(max_examples=60)
    @given(random_traces())
    def look(trace: MemoryTrace) -> None:
        seen[bool(reference_races(trace))] += 1

    look()
    assert min(seen[True], seen[False]) >= 10, seen


def _shown(detector: Detector) -> list[tuple[object, ...]]:
    return [
        (race.buffer, race.layer, race.intervals, race.kind, race.signature, race.repeats) for race in detector.races
    ]
