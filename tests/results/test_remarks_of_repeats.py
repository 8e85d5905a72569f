"""What reports say of intervals that cannot be, and of sessions that are repeats. Floor: tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from results.comparison.comparison import compare
from results.comparison.screen import comparison_screen
from results.comparison.sides import open_named
from results.matrix.folder import write_matrix
from results.matrix.record import NamedComparison
from results.report.arms import comparison_part
from results.report.live_notes import liveness_notes
from results.report.repeats import repeats_note
from tests.results.matrix_builder import matrix


def test_pairs_that_all_differ_by_the_same_have_no_interval(tmp_path: Path) -> None:
    write_matrix(tmp_path, matrix({"bad": {0: 3, 1: 4}, "good": {0: 0, 1: 1}}))
    found = compare(open_named(f"{tmp_path}:bad"), open_named(f"{tmp_path}:good"))
    (one,) = found.contrasts
    assert one.difference == pytest.approx(0.3)
    assert one.ci95 is None
    assert one.method == "every seed differs by the same, so no interval can be given"
    assert "+30.0 to +30.0" not in comparison_screen(found)


def test_one_run_without_a_partner_is_one(tmp_path: Path) -> None:
    write_matrix(tmp_path, matrix({"bad": {0: 3, 1: 4, 2: 5}, "good": {0: 0, 1: 2}}))
    found = compare(open_named(f"{tmp_path}:bad"), open_named(f"{tmp_path}:good"))
    assert found.contrasts[0].method.endswith("without a partner of the same seed, and left out: 1 run")


def test_a_stored_interval_without_width_is_not_shown() -> None:
    found = NamedComparison("a - b", "a", "b", "server", 2, 0.3, (0.3, 0.3), 0.5, 0.5, 0.5, 2, 0, False, "as it is")
    part = comparison_part(found)
    assert (part.difference, part.low, part.high) == (0.3, None, None)
    part = comparison_part(replace(found, ci95=(0.1, 0.5)))
    assert (part.low, part.high) == (0.1, 0.5)


@pytest.mark.parametrize(("passes", "times"), [(1, "once"), (14, "14 times")])
def test_sessions_that_were_sent_again_are_no_independent_ones(passes: int, times: str) -> None:
    note = repeats_note({"workload_passes": passes})
    assert note is not None
    assert f"begun anew {times}" in note
    assert "repeats" in note


def test_nothing_is_said_of_a_workload_that_was_sent_once() -> None:
    assert repeats_note({}) is None
    assert repeats_note({"workload_passes": 0}) is None


def test_one_request_was_left_behind() -> None:
    (note,) = liveness_notes({"recovered": 1, "requests_left_behind": 1})
    assert note.endswith("1 request was left behind in its gauges.")
    (note,) = liveness_notes({"recovered": 1, "requests_left_behind": 2})
    assert note.endswith("2 requests were left behind in its gauges.")
