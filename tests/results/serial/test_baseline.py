"""The excess over the base rate: no alarm where load does not matter, found where it does, by simulated runs.

Floor: tests. The reference is the simulation itself: its truth is known, and it shares no formula with the product.
"""

from __future__ import annotations

import numpy as np
import pytest

from results.serial.baseline import AskedAgain, LoadedTurns, base_rate
from results.serial.record import BaseRate

SESSIONS, TURNS, SAMPLE, WRONG_MAX = 60, 7, 64, 32
SEED = 11


def simulated(rng: np.random.Generator, own: np.ndarray, added: float) -> BaseRate | None:
    """One run. own: [session, turn] float64, how often the model itself fails the turn. added: what load adds."""
    loaded = (rng.random(own.shape) < own) | (rng.random(own.shape) < added)
    alone = (rng.random((2, *own.shape)) < own).mean(axis=0)
    wrong = rng.permutation(np.flatnonzero(loaded))[:WRONG_MAX]
    sample = rng.permutation(own.size)[:SAMPLE]
    if not len(wrong):
        return None
    again = AskedAgain(
        wrong_asked=len(wrong),
        right_alone=float((1 - alone.ravel()[wrong]).sum()),
        sampled=SAMPLE,
        sample_wrong=float(alone.ravel()[sample].sum()),
        sample_only_alone=float(alone.ravel()[sample][~loaded.ravel()[sample]].sum()),
    )
    return base_rate(LoadedTurns([own.shape[1]] * len(own), list(loaded.sum(axis=1))), again)


def models(rng: np.random.Generator, share: float) -> dict[str, np.ndarray]:
    fixed = (rng.random((SESSIONS, TURNS)) < share).astype(float)
    by_session = np.repeat((rng.random((SESSIONS, 1)) < share).astype(float), TURNS, axis=1)
    return {
        "always the same prompts": fixed,
        "always the same sessions": by_session,
        "by chance": np.full((SESSIONS, TURNS), share),
        "some often, some seldom": rng.beta(0.3, 0.3 * (1 - share) / share, (SESSIONS, TURNS)),
    }


@pytest.mark.parametrize("kind", ["always the same prompts", "always the same sessions", "by chance",
                                  "some often, some seldom"])  # fmt: skip
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_a_model_that_fails_as_often_alone_is_hardly_ever_called_corrupt(kind: str, share: float) -> None:
    rng = np.random.default_rng(SEED)
    runs = [simulated(rng, models(rng, share)[kind], 0.0) for _ in range(200)]
    alarms = sum(run is not None and run.excess_low > 0 for run in runs)
    # 2.5 % one-sided are allowed; 12 of 200 or more would have a chance below 0.5 % then.
    assert alarms < 12, (SEED, alarms)


def test_what_load_adds_is_found_and_covered() -> None:
    rng = np.random.default_rng(SEED)
    runs = [simulated(rng, models(rng, 0.3)["always the same prompts"], 0.15) for _ in range(100)]
    assert all(run is not None for run in runs)
    found = [run for run in runs if run is not None]
    # Of a turn that the model fails anyway nothing is added, so 70 % of the 15 are the truth.
    assert sum(run.excess_low > 0 for run in found) > 60
    assert sum(run.excess_low <= 0.105 <= run.excess_high for run in found) > 90
    assert all((run.turns_needed is None) == (run.excess_low > 0) or run.turns_needed is None for run in found)
    short = next(run for run in found if run.excess_low <= 0)
    assert short.turns_needed is not None
    assert short.turns_needed > SAMPLE


def test_plain_counts() -> None:
    rate = base_rate(
        LoadedTurns([10] * 10, [4] * 10),
        AskedAgain(wrong_asked=40, right_alone=40, sampled=20, sample_wrong=0, sample_only_alone=0),
    )
    assert (rate.loaded.rate, rate.alone.rate) == (0.4, 0.0)
    assert rate.excess == pytest.approx(0.4)
    assert rate.excess_low > 0.1
    assert rate.turns_needed is None
