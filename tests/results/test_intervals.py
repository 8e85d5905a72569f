"""Intervals against closed forms, against scipy's own test object, and by simulated coverage. Floor: tests."""

from __future__ import annotations

from math import comb, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.stats.clusters import clustered_rate, design_effect
from results.stats.intervals import clopper_pearson, units_for_bound, upper_bound_at_zero, wilson

counted = st.integers(1, 400).flatmap(lambda units: st.tuples(st.integers(0, units), st.just(units)))


@given(counted, st.sampled_from([0.8, 0.95, 0.99]))
def test_intervals_agree_with_scipys_binomial_test(counts: tuple[int, int], level: float) -> None:
    events, units = counts
    reference = stats.binomtest(events, units)
    for ours, name in ((clopper_pearson, "exact"), (wilson, "wilson")):
        theirs = reference.proportion_ci(level, method=name)
        found = ours(events, units, level)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        assert found.low <= found.estimate == events / units <= found.high


def test_clopper_pearson_ends_are_where_the_tail_is_half_of_alpha() -> None:
    """Straight from the definition, with tails summed by hand."""
    interval = clopper_pearson(9, 60)
    at_least = sum(comb(60, k) * interval.low**k * (1 - interval.low) ** (60 - k) for k in range(9, 61))
    at_most = sum(comb(60, k) * interval.high**k * (1 - interval.high) ** (60 - k) for k in range(10))
    assert (at_least, at_most) == pytest.approx((0.025, 0.025))
    assert (interval.low, interval.high) == pytest.approx((0.0710, 0.2657), abs=5e-5)


def test_wilson_ends_are_where_the_score_is_its_quantile() -> None:
    interval = wilson(9, 60)
    for end in (interval.low, interval.high):
        assert abs(9 / 60 - end) / sqrt(end * (1 - end) / 60) == pytest.approx(1.959964, abs=1e-5)


def test_zero_events_have_a_closed_form() -> None:
    assert upper_bound_at_zero(60) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert upper_bound_at_zero(60) == pytest.approx(0.0487, abs=5e-5)
    assert upper_bound_at_zero(300) == pytest.approx(0.00994, abs=5e-6)
    assert clopper_pearson(0, 60).high == pytest.approx(1 - 0.025 ** (1 / 60))
    assert clopper_pearson(60, 60).low == pytest.approx(0.025 ** (1 / 60))
    assert units_for_bound(0.001) == 2_995
    assert upper_bound_at_zero(2_995) <= 0.001 < upper_bound_at_zero(2_994)


def test_no_units_say_nothing() -> None:
    for interval in (clopper_pearson(0, 0), wilson(0, 0)):
        assert (interval.low, interval.high) == (0.0, 1.0)
        assert isnan(interval.estimate)
    assert upper_bound_at_zero(0) == 1.0


@pytest.mark.parametrize(("events", "units"), [(-1, 5), (6, 5)])
def test_impossible_counts_are_our_bug(events: int, units: int) -> None:
    with pytest.raises(AssertionError):
        clopper_pearson(events, units)


@pytest.mark.parametrize("rate", [0.003, 0.02, 0.15, 0.5])
def test_clopper_pearson_covers_at_least_what_it_says(rate: float) -> None:
    """Exact coverage, summed over every outcome; no sampling."""
    covered = sum(
        float(stats.binom.pmf(events, 60, rate))
        for events in range(61)
        if clopper_pearson(events, 60).low <= rate <= clopper_pearson(events, 60).high
    )
    assert 0.95 <= covered <= 0.9999


def test_wilson_covers_about_what_it_says_on_average_over_rates() -> None:
    rates = np.linspace(0.02, 0.5, 25)
    ends = [wilson(events, 60) for events in range(61)]
    covered = [
        sum(float(stats.binom.pmf(events, 60, rate)) for events, end in enumerate(ends) if end.low <= rate <= end.high)
        for rate in rates
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("correlation", [0.1, 0.3, 0.6])
def test_clustered_intervals_cover_where_naive_ones_do_not(correlation: float) -> None:
    """60 sessions of 8 turns, 15 % corrupted, sessions that differ: a beta-binomial with a known correlation."""
    rng = np.random.default_rng(20)
    strength = 1 / correlation - 1
    repeats, sessions, turns, rate = 400, 60, 8, 0.15
    naive = clustered = 0
    for _ in range(repeats):
        chances = rng.beta(rate * strength, (1 - rate) * strength, size=sessions)
        events = rng.binomial(turns, chances)
        plain = wilson(int(events.sum()), sessions * turns)
        allowing = clustered_rate(events.tolist(), [turns] * sessions)
        naive += plain.low <= rate <= plain.high
        clustered += allowing.low <= rate <= allowing.high
    assert clustered / repeats >= 0.915
    assert naive / repeats < clustered / repeats - 0.02


def test_the_design_effect_of_equal_turns_is_their_number() -> None:
    """Sessions whose 8 turns are all alike hold one unit each: the effect is 8 times 60 / 59."""
    hits = np.array([8.0] * 9 + [0.0] * 51)
    assert design_effect(hits, np.full(60, 8.0)) == pytest.approx(8 * 60 / 59)


def test_independent_turns_have_no_design_effect() -> None:
    rng = np.random.default_rng(4)
    events = rng.binomial(8, 0.15, size=4_000).astype(np.float64)
    assert design_effect(events, np.full(4_000, 8.0)) == pytest.approx(1.0, abs=0.08)
    assert design_effect(np.full(60, 2.0), np.full(60, 8.0)) == 1.0, "never below 1"


def test_clusters_without_events_are_bounded_by_clusters() -> None:
    interval = clustered_rate([0] * 60 + [0], [8] * 60 + [0])
    assert interval.estimate == 0.0
    assert interval.high == clopper_pearson(0, 60).high
    assert interval.method == "Clopper-Pearson over clusters"
    assert (interval.unit_count, interval.level) == (480, 0.95)
    assert clustered_rate([], []).high == 1.0
    assert clustered_rate([3], [8]).high == 1.0, "one session says nothing about others"
    assert clustered_rate([3], [8]).estimate == 3 / 8
