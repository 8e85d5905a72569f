"""Silent drift is told from the noise of two baselines, and only from that. Floor: tests."""

from __future__ import annotations

import numpy as np
import pytest

from results.findings import Kind, Verdict
from results.oracles.divergence import Observed
from results.oracles.drift import judge_drift
from tests.results.builders import judged, turn

SEED = 7


def run(
    rng: np.random.Generator, factor: float = 1.0, wrong: float = 0.0, sessions: int = 24, turns: int = 4
) -> list[Observed]:
    """Replies of about 100 tokens times `factor`; a share of them is wrong."""
    return [
        Observed(
            turn(session, number, completion_tokens=int(100 * factor * np.exp(rng.normal(0, 0.1)))),
            judged(session, number, Kind.WRONG_CALL if rng.random() < wrong else None),
        )
        for session in range(sessions)
        for number in range(turns)
    ]


@pytest.mark.parametrize(
    ("factor", "wrong", "verdict", "reason"),
    [
        (1.0, 0.0, Verdict.OK, ""),
        (1.2, 0.0, Verdict.VIOLATED, "times the baseline's"),
        (3.0, 0.0, Verdict.VIOLATED, "times the baseline's"),
        (0.5, 0.0, Verdict.VIOLATED, "a mean length of 0."),
        (1.0, 0.3, Verdict.VIOLATED, "points of right replies"),
    ],
)
def test_a_drift_in_length_or_score_is_found(factor: float, wrong: float, verdict: Verdict, reason: str) -> None:
    rng = np.random.default_rng(SEED)
    drift = judge_drift(run(rng, factor, wrong), [run(rng), run(rng)], rng)
    assert drift.verdict is verdict, drift
    assert reason in drift.reason
    assert drift.length_factor == pytest.approx(factor, rel=0.1)


def test_without_two_baselines_that_agree_nothing_can_be_said() -> None:
    rng = np.random.default_rng(SEED)
    drifted = run(rng, 3.0)
    assert judge_drift(drifted, [], rng).verdict is Verdict.UNKNOWN
    assert judge_drift(drifted, [run(rng)], rng).reason == "1 baseline runs, and drift needs two (A/A)"
    restless = judge_drift(drifted, [run(rng), run(rng, 2.0)], rng)
    assert (restless.verdict, "the two baselines differ from each other" in restless.reason) == (Verdict.UNKNOWN, True)
    few = judge_drift(run(rng, sessions=4), [run(rng), run(rng)], rng)
    assert (few.verdict, few.sessions) == (Verdict.UNKNOWN, 4)


def test_sound_runs_hardly_ever_drift() -> None:
    """At most 1 % by its significance; 20 sound runs with more than two alarms have a chance below 0.2 %."""
    rng = np.random.default_rng(SEED)
    alarms = sum(
        judge_drift(run(rng, sessions=10), [run(rng, sessions=10), run(rng, sessions=10)], rng).verdict
        is Verdict.VIOLATED
        for _ in range(20)
    )
    assert alarms <= 2
