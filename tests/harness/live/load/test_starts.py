"""Arrivals against SciPy's distributions and integrals: gaps, bursts, ramps, and what a duration holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from harness.live.arrivals import LoadShape, load_shape, with_arrivals
from harness.live.load.starts import unit_starts
from harness.load.workload.plan import ForkPoint
from kernels.errors import ConfigError
from tests.harness.small_plans import session_plan

SEED = 11
# Of a correct sampler one seed in a thousand falls below; the seed is fixed, so this is no matter of luck.
P_MIN = 1e-3


def starts_s(shape: LoadShape, seed: int = SEED) -> np.ndarray:
    plans = [session_plan(0, turns=1)] * shape.sessions
    return np.array([plan.start_ns for plan in with_arrivals(plans, shape, np.random.default_rng(seed))]) / 1e9


@pytest.mark.parametrize("burstiness", [0.1, 0.25, 1.0, 4.0])
def test_gamma_gaps_have_the_rate_and_the_burstiness(burstiness: float) -> None:
    shape = load_shape("gamma", 512, 2.0, None, burstiness=burstiness)
    # Before they are whole nanoseconds: a tenth of the burstiest gaps are shorter than one.
    gaps = np.diff(unit_starts(512, burstiness, np.random.default_rng(SEED), is_whole=False)) / 2.0
    assert np.abs(np.cumsum(gaps) - starts_s(shape)[1:]).max() < 1e-9
    law = stats.gamma(burstiness, scale=1 / (2.0 * burstiness))
    assert stats.kstest(gaps, law.cdf).pvalue > P_MIN
    # The test can tell: another burstiness, or another rate, is refused.
    for wrong in (stats.gamma(2 * burstiness, scale=1 / (4.0 * burstiness)), stats.gamma(burstiness, scale=1.0)):
        assert stats.kstest(gaps, wrong.cdf).pvalue < P_MIN
    assert law.std() / law.mean() == pytest.approx(float(shape.words().split("CV ")[1].rstrip(")")), rel=5e-3)


def test_gamma_of_burstiness_one_is_poisson() -> None:
    plain = starts_s(load_shape("poisson", 100, 2.0, None))
    assert np.array_equal(plain, starts_s(load_shape("gamma", 100, 2.0, None, burstiness=1.0)))
    assert stats.kstest(np.diff(plain), stats.expon(scale=0.5).cdf).pvalue > P_MIN


@pytest.mark.parametrize("kind", ["constant", "poisson", "gamma"])
def test_a_duration_holds_as_many_as_its_rate_says(kind: str) -> None:
    shape = load_shape(kind, None, 5.0, 60.0)  # type: ignore[arg-type]
    begins = starts_s(shape)
    assert shape.sessions == len(begins) == 300
    assert begins[0] == 0
    assert begins[-1] < 60.0
    if kind == "poisson":
        # Given their number, the arrivals of a Poisson process are uniform.
        assert stats.kstest(begins[1:], stats.uniform(0, 60.0).cdf).pvalue > P_MIN


@pytest.mark.parametrize(("first", "last"), [(0.0, 8.0), (8.0, 0.0), (1.0, 7.0), (4.0, 4.0)])
def test_ramp_has_the_integral_of_its_rate(first: float, last: float) -> None:
    shape = load_shape("ramp", None, (first, last), 100.0)
    begins = starts_s(shape)

    def rate(at_s: float) -> float:
        return first + (last - first) * at_s / 100.0

    whole = integrate.quad(rate, 0, 100.0)[0]
    assert shape.sessions == round(whole) == len(begins)
    assert (begins.min(), begins.max() < 100.0) == (0.0, True)
    for until_s in (10.0, 25.0, 50.0, 75.0, 100.0):
        expected = integrate.quad(rate, 0, until_s)[0]
        # The count in a part of the time is binomial, given the whole count.
        low, high = stats.binom(len(begins), expected / whole).interval(1 - P_MIN / 10)
        assert low - 1 <= (begins < until_s).sum() <= high + 1, until_s
    cdf = np.vectorize(lambda at_s: integrate.quad(rate, 0, at_s)[0] / whole)
    assert stats.kstest(begins[1:], cdf).pvalue > P_MIN


def test_ramp_of_a_number_of_sessions_takes_as_long_as_they_need() -> None:
    shape = load_shape("ramp", 90, (1.0, 2.0), None)
    assert shape.span_s == pytest.approx(60.0)
    assert starts_s(shape).max() < 60.0


def test_trace_keeps_its_times_at_its_own_speed() -> None:
    plans = [session_plan(number, start_ns=number * 1_000_000_000) for number in range(4)]
    fork = session_plan(4, start_ns=2_500_000_000, fork=ForkPoint(1, 0, 400))
    shape = load_shape("trace", 5, None, 1.2, time_scale=0.5)
    found = with_arrivals([*plans, fork], shape, np.random.default_rng(0))
    # What would begin at or after 1.2 s is left out.
    assert [(plan.session, plan.start_ns) for plan in found] == [(0, 0), (1, 500_000_000), (2, 10**9)]
    whole = with_arrivals([*plans, fork], replace(shape, duration_s=None), np.random.default_rng(0))
    assert whole[-1].fork == ForkPoint(1, 0, 200)
    with pytest.raises(ConfigError, match="no session of the trace begins within"):
        with_arrivals([plans[3]], replace(shape, duration_s=1.0), np.random.default_rng(0))
