"""The programs that searches are compared on: each is broken in some order, its twin in none; counting of trials.

Owns: that, and the interval of a median. Does not own: the searches. Floor: tests. Source: ours; for the ranks of the
interval, tables of the sign test (n = 20: 6th and 15th).
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from benchmarks.races import first_bug, peer_speed, stored
from benchmarks.races.arms import CONTROL, arms
from benchmarks.races.catalogue import Case, cases
from benchmarks.races.small_alarms import arm_runs, program_runs
from benchmarks.races.trials import Trial, exhaustive_trial, flip_trial, race_trial, sampling
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.search.exhaustive import Exhaustive
from kernels.races.strategies.issue_order import IssueOrder

SEED = 22_811
CASES = {case.name: case for case in cases()}
FAILS_AS_ISSUED = "lost update"
"""Two threads that take turns in issue order: this one needs no unlucky order."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_each_fault_needs_an_unlucky_order_and_its_twin_has_none(case: Case) -> None:
    as_issued = Execution(Plan(case.broken)).run(IssueOrder(), asks_always=True)
    assert as_issued.has_failed == (case.name == FAILS_AS_ISSUED)
    assert any(outcome.has_failed for outcome in islice(Exhaustive(Plan(case.broken)).outcomes(), 100))
    search = Exhaustive(Plan(case.ordered))
    assert not any(outcome.has_failed for outcome in islice(search.outcomes(), 100))
    assert search.is_over


def test_detect_then_flip_needs_two_schedules() -> None:
    assert flip_trial(CASES["20 copies, a reader"].broken, 100) == Trial(2, True)
    assert flip_trial(CASES["long chain"].broken, 100) == Trial(2, True)


def test_where_the_passing_run_has_no_race_the_flip_finds_nothing_and_the_command_does() -> None:
    broken = CASES["two orders"].broken
    assert flip_trial(broken, 100) == Trial(100, False)
    every = exhaustive_trial(broken, 100)
    assert every.is_found
    # One run for the detector, and then the same orders.
    assert race_trial(broken, 100) == Trial(every.schedules + 1, True)


def test_a_fault_of_two_orders_is_beyond_priorities_that_never_change() -> None:
    """PCT of depth 1 starves one lane from start to end; here one must be fast first and slow then."""
    broken = CASES["two orders"].broken
    assert not any(sampling(broken, "PCT d=1")(SEED + index, 50).is_found for index in range(5))
    assert all(sampling(broken, "PCT d=2")(SEED + index, 50).is_found for index in range(5))


def test_a_trial_follows_from_its_seed() -> None:
    trial = sampling(CASES["long chain"].broken, "POS")
    found = [trial(SEED + index, 200) for index in range(4)]
    assert found == [trial(SEED + index, 200) for index in range(4)]
    assert len(set(found)) > 1, "four seeds, one answer"


def test_the_interval_of_a_median() -> None:
    trials = [Trial(count, True) for count in range(1, 21)]
    assert first_bug.median_interval(trials) == (6, 15)
    censored = [*trials[:10], *(Trial(1_000, False) for _ in range(10))]
    assert first_bug.median_interval(censored) == (6, None)
    assert first_bug.median_interval([Trial(1_000, False)] * 20) == (None, None)


@pytest.mark.parametrize("name", ["gated", "fix: host_gate", CONTROL])
def test_the_shrunk_workload_raises_no_alarm_but_in_the_control(name: str) -> None:
    found = arm_runs(next(arm for arm in arms() if arm.name == name), range(SEED, SEED + 4))
    assert found.loads == 4
    assert len(found.racing) == (4 if name == CONTROL else 0)
    assert not found.failing or name == CONTROL


def test_the_detector_needs_no_unlucky_order() -> None:
    """A missing wait shows in every trace, wrong bytes in few of them."""
    case, seeds = CASES["long chain"], range(SEED, SEED + 20)
    broken = program_runs(case.name, case.broken, seeds)
    assert (len(broken.racing), len(broken.failing)) == (20, 0)
    assert not program_runs(case.name, case.ordered, seeds).racing


def test_without_the_peer_there_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["peer_speed", "--frontrun", str(tmp_path / "python")])
    assert peer_speed.main() == peer_speed.NO_PEER
    assert "pip install frontrun" in capsys.readouterr().err


def test_the_page_names_every_program() -> None:
    text = stored.PAGE.read_text(encoding="utf-8")
    assert not [name for name in CASES if f"| {name} |" not in text]
