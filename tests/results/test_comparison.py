"""Two stored things against each other: the right unit, and a refusal with the difference named. Floor: tests."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from scipy import stats

from kernels.errors import ConfigError
from results.comparison.comparison import Answer, Comparison, compare
from results.comparison.errors import NotComparable
from results.comparison.screen import comparison_screen
from results.comparison.sides import open_named
from results.errors import NewerRun, NotARun
from results.matrix.folder import write_matrix
from results.matrix.record import SequentialState
from tests.results.matrix_builder import Corrupted, matrix, stored_run


def _compared(first: object, second: object, **options: bool) -> Comparison:
    return compare(open_named(str(first)), open_named(str(second)), **options)


def _matrix(folder: Path, corrupted: Corrupted, **changes: Any) -> Path:
    folder.mkdir()
    write_matrix(folder, matrix(corrupted, **changes))
    return folder


def _sign_flip_p(differences: list[float]) -> float:
    """The two-sided permutation p of paired differences, counted out by hand."""
    found = abs(mean(differences))
    flipped = [mean(sign * value for sign, value in zip(signs, differences, strict=True))
               for signs in product((1, -1), repeat=len(differences))]  # fmt: skip
    return sum(abs(value) >= found - 1e-12 for value in flipped) / len(flipped)


def test_arms_are_compared_over_seeds(tmp_path: Path) -> None:
    bad = dict(enumerate((3, 5, 2, 4, 6, 1, 3, 4)))
    path = _matrix(tmp_path / "m", {"bad": bad, "good": dict.fromkeys(range(8), 0)})
    found = _compared(f"{path}:bad", f"{path}:good")
    (one,) = found.contrasts
    assert (one.unit, one.is_paired, one.count_first) == ("seed", True, 8)
    assert one.difference == pytest.approx(mean(bad.values()) / 10)
    assert one.p == pytest.approx(_sign_flip_p([count / 10 for count in bad.values()]))
    reference = stats.ttest_1samp([count / 10 for count in bad.values()], 0).confidence_interval(0.95)
    assert one.ci95 == pytest.approx((reference.low, reference.high))
    assert found.answer is Answer.DIFFERENT
    assert found.answer.exit_code == 1
    assert one.differs_in == {"cache.arm": ("bad", "good")}
    assert comparison_screen(found).startswith("DIFFERENT  ")
    assert json.loads(json.dumps(found.as_json()))["answer"] == "different"


def test_whole_matrices_are_compared_arm_by_arm_with_holm(tmp_path: Path) -> None:
    seeds = range(8)
    before = {"a": dict.fromkeys(seeds, 0), "b": dict.fromkeys(seeds, 2), "old": dict.fromkeys(seeds, 0)}
    after = {"a": {seed: 1 + seed % 3 for seed in seeds}, "b": {seed: 2 + seed % 2 for seed in seeds}, "new": {0: 0}}
    found = _compared(_matrix(tmp_path / "one", before), _matrix(tmp_path / "two", after, source="bbbb"))
    assert [one.name for one in found.contrasts] == ["a", "b"]
    first, second = found.contrasts
    assert first.p is not None
    assert second.p is not None
    assert first.p < second.p
    assert first.p_holm == pytest.approx(2 * first.p)
    assert second.p_holm == pytest.approx(second.p)
    assert found.reason.endswith(": a")
    assert [warning.rpartition("/")[2] for warning in found.warnings] == [
        "one:old has no partner and is left out",
        "two:new has no partner and is left out",
        "they were made by other states of the source code (aaaa and bbbb)".rpartition("/")[2],
    ]


def test_same_outcomes_are_told_as_such(tmp_path: Path) -> None:
    seeds = {"a": {0: 1, 1: 2}}
    found = _compared(_matrix(tmp_path / "one", seeds), _matrix(tmp_path / "two", seeds))
    assert (found.answer, found.answer.exit_code) == (Answer.IDENTICAL, 0)
    assert found.contrasts[0].ci95 is None


def test_too_few_seeds_cannot_be_judged(tmp_path: Path) -> None:
    path = _matrix(tmp_path / "m", {"bad": {0: 9, 1: 9, 2: 9}, "good": {0: 0, 1: 0, 2: 0}})
    found = _compared(f"{path}:bad", f"{path}:good")
    assert found.contrasts[0].smallest_p == 0.25
    assert (found.answer, found.answer.exit_code) == (Answer.UNKNOWN, 4)
    assert "3 seeds can show p = 0.25 at best, which decides nothing." in comparison_screen(found)


def test_enough_seeds_without_a_difference(tmp_path: Path) -> None:
    path = _matrix(tmp_path / "m", {"one": {seed: seed % 2 for seed in range(8)},
                                    "two": {seed: (seed + 1) % 2 for seed in range(8)}})  # fmt: skip
    found = _compared(f"{path}:one", f"{path}:two")
    assert (found.answer, found.answer.exit_code, found.contrasts[0].p) == (Answer.NOT_SHOWN, 0, 1.0)


def test_other_seeds_are_groups_not_pairs(tmp_path: Path) -> None:
    mine = _matrix(tmp_path / "one", {"a": dict(enumerate((5, 6, 4, 7)))})
    theirs = _matrix(tmp_path / "two", {"a": {10: 0, 11: 1, 12: 0, 13: 1}})
    (one,) = _compared(mine, theirs).contrasts
    assert (one.unit, one.is_paired, one.count_first, one.count_second) == ("seed", False, 4, 4)
    # Of the 70 ways to split eight seeds into two groups of four, only the one found and its mirror are as far apart.
    assert one.p == pytest.approx(2 / 70)
    welch = stats.ttest_ind([0.5, 0.6, 0.4, 0.7], [0, 0.1, 0, 0.1], equal_var=False).confidence_interval(0.95)
    assert one.ci95 == pytest.approx((welch.low, welch.high))


def test_two_runs_of_one_seed_are_paired_by_session_and_say_what_they_assume(tmp_path: Path) -> None:
    bad = stored_run(tmp_path, seed=1, corrupted=7)
    good = stored_run(tmp_path, seed=1, corrupted=0)
    found = _compared(bad, good)
    (one,) = found.contrasts
    assert (one.unit, one.is_paired, one.count_first) == ("session", True, 10)
    assert one.difference == pytest.approx(0.7)
    # Seven sessions differ, all in one direction: McNemar's exact test.
    assert one.p == pytest.approx(stats.binomtest(7, 7, 0.5).pvalue)
    assert "each side is one run" in str(one.assumption)
    assert "if sessions of one run were independent" in found.reason


def test_two_runs_of_other_seeds_are_samples(tmp_path: Path) -> None:
    found = _compared(stored_run(tmp_path, seed=1, corrupted=8), stored_run(tmp_path, seed=2, corrupted=1))
    (one,) = found.contrasts
    assert (one.unit, one.is_paired) == ("session", False)
    assert one.p == pytest.approx(stats.boschloo_exact([[8, 1], [2, 9]]).pvalue)
    # By hand, from Wilson's intervals of 8 of 10 and 1 of 10: 49.0 to 94.3 % and 1.8 to 40.4 %.
    wilson = [stats.binomtest(count, 10).proportion_ci(method="wilson") for count in (8, 1)]
    below = math.hypot(0.8 - wilson[0].low, wilson[1].high - 0.1)
    above = math.hypot(wilson[0].high - 0.8, 0.1 - wilson[1].low)
    assert one.ci95 == pytest.approx((0.7 - below, 0.7 + above))


def test_one_conversation_under_two_seeds_would_count_twice(tmp_path: Path) -> None:
    mine = stored_run(tmp_path, seed=1, corrupted=3)
    copied = stored_run(tmp_path, seed=2, corrupted=0, said_by=1)
    with pytest.raises(NotComparable, match=r"10 sessions are in both \(first: session 0\) though their seeds differ"):
        _compared(mine, copied)


def test_one_seed_that_planned_other_sessions(tmp_path: Path) -> None:
    mine = stored_run(tmp_path, seed=1, corrupted=3)
    other = stored_run(tmp_path, seed=1, corrupted=3, said_by=5)
    with pytest.raises(NotComparable, match=r"10 sessions differ .*planned by other code"):
        _compared(mine, other)


def test_other_workloads_are_named(tmp_path: Path) -> None:
    mine = stored_run(tmp_path, seed=1, corrupted=0)
    fewer = stored_run(tmp_path, seed=2, corrupted=0, sessions=4)
    with pytest.raises(NotComparable, match=r"their workloads differ: workload\.sessions is 10 and 4$"):
        _compared(mine, fewer)


def test_other_versions_and_backends_are_named(tmp_path: Path) -> None:
    mine = stored_run(tmp_path, seed=1, corrupted=0)
    newer = stored_run(tmp_path, seed=2, corrupted=0, versions={"kvrace": "0.2.0"})
    with pytest.raises(NotComparable, match=r"versions 0\.1\.0 and 0\.2\.0 of this tool; --across-versions"):
        _compared(mine, newer)
    assert _compared(mine, newer, across_versions=True).contrasts[0].difference == 0
    live = stored_run(tmp_path, seed=2, corrupted=0, backend="live")
    with pytest.raises(NotComparable, match="one was made on virtual, the other on live"):
        _compared(mine, live)


def test_one_and_the_same(tmp_path: Path) -> None:
    path = stored_run(tmp_path, seed=1, corrupted=0)
    with pytest.raises(NotComparable, match="they are one and the same"):
        _compared(path, f"{path}/../{path.name}")
    folder = _matrix(tmp_path / "m", {"a": {0: 0}})
    with pytest.raises(NotComparable, match="one and the same"):
        _compared(f"{folder}:a", f"{folder}:a")


def test_kinds_that_do_not_go_together(tmp_path: Path) -> None:
    run, folder = stored_run(tmp_path, seed=1, corrupted=0), _matrix(tmp_path / "m", {"a": {0: 0}})
    with pytest.raises(NotComparable, match=r"is a whole matrix, .* is not; name one arm as .*m:ARM \(a\)"):
        _compared(folder, run)
    with pytest.raises(NotComparable, match="one is a single run, the other an arm"):
        _compared(run, f"{folder}:a")
    with pytest.raises(ConfigError, match=r"has no arm 'aa' .did you mean 'a'"):
        _compared(f"{folder}:aa", run)
    with pytest.raises(NotARun, match="neither a manifest"):
        _compared(tmp_path, run)
    with pytest.raises(NotComparable, match="no arm in common"):
        _compared(folder, _matrix(tmp_path / "n", {"b": {0: 0}}))


def test_a_newer_run_is_refused(tmp_path: Path) -> None:
    newer = stored_run(tmp_path, seed=1, corrupted=0, schema="kvrace-run/9")
    with pytest.raises(NewerRun, match="update this tool"):
        _compared(newer, stored_run(tmp_path, seed=2, corrupted=0))


def test_a_torn_line_and_missing_turns_are_said_and_leave_no_clean_answer(tmp_path: Path) -> None:
    whole, torn = stored_run(tmp_path, seed=1, corrupted=0), stored_run(tmp_path, seed=2, corrupted=0)
    lines = (torn / "turns.jsonl").read_bytes()
    (torn / "turns.jsonl").write_bytes(lines[:-40])
    found = _compared(whole, torn)
    assert any("turns.jsonl:10: torn last line" in warning for warning in found.warnings)
    assert any("planned turns are missing (first: session 9 turn 0)" in warning for warning in found.warnings)
    assert (found.answer, found.answer.exit_code) == (Answer.UNKNOWN, 4)
    assert found.contrasts[0].count_second == 9


def test_a_seed_that_is_stored_twice_counts_on_neither_side(tmp_path: Path) -> None:
    record = matrix({"a": dict.fromkeys(range(8), 3)})
    doubled = tmp_path / "m"
    doubled.mkdir()
    write_matrix(doubled, replace(record, runs=(*record.runs, replace(record.runs[0], sessions_corrupted=9))))
    found = _compared(doubled, _matrix(tmp_path / "n", {"a": dict.fromkeys(range(8), 3)}))
    assert any("a seed 0 is stored 2 times" in warning for warning in found.warnings)
    assert found.contrasts[0].count_first == 7
    assert found.answer is Answer.UNKNOWN


def test_a_matrix_that_its_data_stopped_says_so(tmp_path: Path) -> None:
    state = SequentialState("e-process", True, "decided", seeds_used=8, seeds_max=200, claims=())
    seeds = {"a": dict.fromkeys(range(8), 3)}
    stopped = _matrix(tmp_path / "m", seeds, sequential=state)
    found = _compared(stopped, _matrix(tmp_path / "n", seeds))
    assert [warning for warning in found.warnings if "--until decided stopped it by its data" in warning]


def test_an_interrupted_matrix_says_so(tmp_path: Path) -> None:
    partial = _matrix(tmp_path / "m", {"a": dict.fromkeys(range(8), 3)}, partial=True, runs_wanted=20)
    found = _compared(partial, _matrix(tmp_path / "n", {"a": dict.fromkeys(range(8), 3)}))
    assert any("the matrix was interrupted: 8 of 20 runs are there" in warning for warning in found.warnings)
    assert found.answer is Answer.UNKNOWN
