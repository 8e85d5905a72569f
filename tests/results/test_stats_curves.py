"""Curves: Kaplan-Meier and log-rank on a textbook's data, dose-response against closed forms. Floor: tests."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from results.stats.dose_response import NotFitted, dose_response
from results.stats.survival import kaplan_meier, log_rank

# Remission times in weeks of 42 children with leukaemia (Freireich et al., Blood 21, 1963), as in every textbook.
TREATED = (
    [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35],
    [at in (0, 1, 2, 4, 6, 9, 10, 14, 15) for at in range(21)],
)
PLACEBO = ([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], [True] * 21)


def test_kaplan_meier_on_the_textbook() -> None:
    curve = kaplan_meier(*TREATED)
    at = dict(zip(curve.times, curve.share, strict=True))
    expected = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}
    assert {time: round(at[time], 3) for time in expected} == expected
    assert (curve.median, curve.unit_count, curve.event_count) == (23, 21, 9)
    assert kaplan_meier(*PLACEBO).median == 8
    assert all(low <= share <= high for low, share, high in zip(curve.low, curve.share, curve.high, strict=True))


def test_the_restricted_mean_without_censoring_is_the_mean() -> None:
    assert kaplan_meier(*PLACEBO).restricted_mean == pytest.approx(np.mean(PLACEBO[0]))


def test_log_rank_on_the_textbook() -> None:
    """The published chi-square is 16.79 with one degree of freedom."""
    found = log_rank(TREATED, PLACEBO)
    assert found.statistic**2 == pytest.approx(16.79, abs=0.005)
    assert found.p == pytest.approx(4.17e-5, abs=5e-7)
    assert log_rank(PLACEBO, PLACEBO).p == pytest.approx(1.0)


def test_times_without_any_event() -> None:
    curve = kaplan_meier([5, 5, 9], [False] * 3)
    assert (curve.median, curve.restricted_mean, curve.event_count) == (None, 9.0, 0)
    assert log_rank(([5, 5], [False, False]), ([7], [False])).p == 1.0
    # All events at one time: no variance, and no NaN that would upset an adjustment of many such tests.
    assert log_rank(([1, 1], [True, True]), ([1], [True])).p == 1.0


def _doses(seeds: int, hits: list[int]) -> tuple[dict[str, list[float]], list[int], list[int], list[int]]:
    return {"delay_us": [0.0, 100.0] * seeds}, hits, [60] * len(hits), [at // 2 for at in range(2 * seeds)]


def test_two_doses_give_the_log_odds_ratio_and_its_sandwich() -> None:
    """With two doses the fit is exact, and the robust error has a closed form: sums of residuals by seed."""
    hits = [6, 20, 3, 25, 9, 18, 5, 30]
    found = dose_response(*_doses(4, hits))
    rates = np.array([sum(hits[0::2]), sum(hits[1::2])]) / 240
    slope = log(rates[1] / (1 - rates[1])) - log(rates[0] / (1 - rates[0]))
    assert found.terms[0].log_odds * 100 == pytest.approx(slope)
    by_seed = (np.array(hits).reshape(4, 2) - 60 * rates) / (240 * rates * (1 - rates))
    influence = by_seed[:, 1] - by_seed[:, 0]
    # statsmodels' small-sample factor: clusters / (clusters - 1) times (rows - 1) / (rows - columns).
    error = np.sqrt((influence**2).sum() * 4 / 3 * 7 / 6)
    assert (found.terms[0].high - found.terms[0].low) / 2 * 100 == pytest.approx(3.182446 * error, rel=1e-4)
    assert found.rate_at({"delay_us": 100.0}) == pytest.approx(rates[1])
    assert found.rate_at({"delay_us": 50.0}) == pytest.approx(1 / (1 + exp(-found.intercept - slope / 2)))
    assert "seeds or blocks (4)" in (found.caveat or "")


def test_two_terms_are_told_apart() -> None:
    """Delay matters, sessions do not; both vary in every seed."""
    rng = np.random.default_rng(5)
    cells = [(delay, sessions, seed) for seed in range(12) for delay in (0, 100, 200) for sessions in (30, 60, 90)]
    hits = [int(rng.binomial(60, 1 / (1 + exp(2 - 0.01 * delay)))) for delay, _, _ in cells]
    doses = {"delay_us": [cell[0] for cell in cells], "sessions": [cell[1] for cell in cells]}
    found = dose_response(doses, hits, [60] * len(hits), [cell[2] for cell in cells])
    delay, sessions = found.terms
    assert delay.low < 0.01 < delay.high
    assert delay.p < 1e-6
    assert sessions.low < 0 < sessions.high
    assert found.caveat is None


@pytest.mark.parametrize(
    ("hits", "why"),
    [
        ([0, 0] * 4, "no run has any event"),
        ([60, 60] * 4, "every unit is an event"),
        ([0, 60] * 4, "one end of a dose only"),
        ([0, 3] * 4, "one end of a dose only"),
    ],
)
def test_what_fixes_no_curve_is_said(hits: list[int], why: str) -> None:
    with pytest.raises(NotFitted, match=why):
        dose_response(*_doses(4, hits))


def test_too_little_to_fit_is_said() -> None:
    with pytest.raises(NotFitted, match="at least 3 seeds, and there are 2"):
        dose_response(*_doses(2, [1, 2, 1, 3]))
    with pytest.raises(NotFitted, match="delay_us has one value only"):
        dose_response({"delay_us": [5.0] * 4}, [1, 2, 3, 4], [60] * 4, [0, 1, 2, 3])
