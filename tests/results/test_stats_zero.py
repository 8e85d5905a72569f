"""What a zero leaves open, against exact probabilities of silence under known dependence. Floor: tests."""

from __future__ import annotations

from math import lgamma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from results.stats.arm_rate import arm_rate, small_sample_caveat
from results.stats.blocks import block_numbers, counts_by_cluster
from results.stats.bootstrap import cluster_bootstrap
from results.stats.intervals import clopper_pearson
from results.stats.zero import bound_percent, zero_bound


def _silence(rate: float, effect: float, size: int) -> float:
    """The exact chance that a seed of `size` beta-binomial sessions with this design effect has no event."""
    strength = (size - 1) / (effect - 1) - 1
    a, b = rate * strength, (1 - rate) * strength
    return float(np.exp(lgamma(b + size) + lgamma(a + b) - lgamma(b) - lgamma(a + b + size)))


@pytest.mark.parametrize("seeds", [1, 3, 10, 20])
@pytest.mark.parametrize("effect", [1.2, 2.1, 6.9, 30.0, 59.0])
def test_silence_is_rarer_than_5_percent_at_the_bound(seeds: int, effect: float) -> None:
    bound = zero_bound(60 * seeds, clusters=seeds, design_effect=effect)
    assert bound.by_effect is not None
    assert _silence(bound.by_effect, effect, 60) ** seeds <= 0.05 + 1e-12


@pytest.mark.parametrize("seeds", [1, 3, 20])
@pytest.mark.parametrize("effect", [2.1, 6.9, 30.0])
def test_some_dependence_attains_the_bound(seeds: int, effect: float) -> None:
    """Seeds that are clean or lose the same number of sessions each: then silence has exactly 5 % at the bound."""
    rate = zero_bound(60 * seeds, clusters=seeds, design_effect=effect).by_effect or 1.0
    lost = effect * (1 - rate) + 60 * rate  # Of 60, so that mean and variance are those of the rate and the effect.
    assert (1 - 60 * rate / lost) ** seeds == pytest.approx(0.05)


@pytest.mark.parametrize("struck", [0.05, 0.2, 0.5])
def test_the_bound_by_effect_holds_for_seeds_that_are_sound_or_bad(struck: float) -> None:
    """Another shape of dependence: a share of the seeds is prone, the others never fail."""
    seeds, size = 20, 60
    for chance in (0.02, 0.1, 0.6):
        rate = struck * chance
        correlation = (struck * chance**2 - rate**2) / (rate * (1 - rate))
        silent = 1 - struck + struck * (1 - chance) ** size
        bound = zero_bound(seeds * size, clusters=seeds, design_effect=1 + (size - 1) * correlation)
        assert bound.by_effect is not None
        assert rate <= bound.by_effect or silent**seeds <= 0.05


def test_the_ends_of_dependence_are_the_exact_bounds() -> None:
    """0 of 20: 1 - 0.05 ** (1 / 20) = 13.91 %, whether the 20 are sessions or seeds whose sessions are all alike."""
    assert zero_bound(20, clusters=20, design_effect=1).by_effect == pytest.approx(0.139108, abs=1e-6)
    whole = zero_bound(1_200, clusters=20, design_effect=60)
    assert whole.by_effect == pytest.approx(0.139108, abs=1e-6)
    assert whole.by_cluster == pytest.approx(0.139108, abs=1e-6)
    assert whole.independent == pytest.approx(1 - 0.05 ** (1 / 1_200))


@given(st.integers(1, 40), st.floats(1, 60))
def test_more_dependence_never_claims_more(seeds: int, effect: float) -> None:
    bound = zero_bound(60 * seeds, clusters=seeds, design_effect=effect)
    assert bound.by_effect is not None
    assert bound.by_cluster is not None
    assert bound.independent <= bound.by_effect <= bound.by_cluster
    assert bound.largest == bound.by_effect


def test_what_is_not_known_is_not_assumed() -> None:
    assert zero_bound(60).largest == zero_bound(60).independent
    assert zero_bound(60, clusters=3).largest == zero_bound(60, clusters=3).by_cluster
    assert zero_bound(0, clusters=0).largest == 1.0


def test_the_sentence_has_every_bound() -> None:
    text = zero_bound(1_200, clusters=20, design_effect=2.1).sentence()
    assert text.startswith("0 of 1,200 sessions leave rates up to 0.25 % open if sessions are independent")
    assert "0.57 % with a design effect of 2.1" in text
    assert "14 % however much the sessions of one seed hang together" in text
    assert zero_bound(0).sentence("turn") == "0 of 0 turns rule nothing out"


@pytest.mark.parametrize(
    ("rate", "shown"), [(0.00251, "0.26 %"), (0.0025, "0.25 %"), (0.1391, "14 %"), (0.048703, "4.9 %"), (1.0, "100 %")]
)
def test_bounds_are_rounded_up(rate: float, shown: str) -> None:
    assert bound_percent(rate) == shown


def test_the_arm_interval_of_unequal_seeds_by_hand() -> None:
    """Korn and Graubard's steps, one by one, with scipy's distributions."""
    events, units = [3, 9, 8, 29, 5, 6], [60, 60, 50, 60, 60, 40]
    total, rate = sum(units), sum(events) / sum(units)
    spread = sum((hit - rate * size) ** 2 for hit, size in zip(events, units, strict=True)) * 6 / 5 / total**2
    effect = spread / (rate * (1 - rate) / total)
    left = total / effect * (stats.t.ppf(0.975, total - 1) / stats.t.ppf(0.975, 5)) ** 2
    low, high = (
        stats.beta.ppf(0.025, rate * left, left - rate * left + 1),
        stats.beta.ppf(0.975, rate * left + 1, left - rate * left),
    )
    found = arm_rate(events, units)
    assert (found.estimate, found.low, found.high) == pytest.approx((rate, low, high))
    assert found.method.startswith("Korn-Graubard over 6 clusters, design effect ")


def test_an_arm_without_events_is_bounded_by_its_seeds() -> None:
    for found in (arm_rate([0] * 10, [60] * 10), arm_rate([0] * 10 + [0], [60] * 10 + [0])):
        assert (found.estimate, found.low, found.high) == (0.0, 0.0, clopper_pearson(0, 10).high)
    assert arm_rate([4], [60]).high == 1.0, "one seed says nothing of others"
    assert arm_rate([], []).unit_count == 0


def test_few_clusters_come_with_a_warning() -> None:
    assert small_sample_caveat(10) is None
    assert "seeds or blocks (5)" in (small_sample_caveat(5) or "")


def test_the_bootstrap_resamples_whole_seeds() -> None:
    """Seeds that are all or nothing: resampled by session the interval would be seven times narrower."""
    events, units = [60] * 5 + [0] * 15, [60] * 20
    found = cluster_bootstrap(events, units, rng=np.random.default_rng(3), resamples=1_999)
    draws = np.random.default_rng(4).binomial(20, 0.25, 20_000) / 20
    assert found.estimate == 0.25
    assert (found.low, found.high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.055)
    assert found == cluster_bootstrap(events, units, rng=np.random.default_rng(3), resamples=1_999)


def test_the_bootstrap_does_not_collapse_without_spread() -> None:
    found = cluster_bootstrap([0] * 10, [60] * 10, rng=np.random.default_rng(0))
    assert found.high == clopper_pearson(0, 10).high


def test_blocks_of_time_hold_what_began_in_them() -> None:
    starts_s = [100.0, 129.9, 130.0, 220.0, 101.0]
    blocks = block_numbers(starts_s, 30.0)
    assert blocks == [0, 0, 1, 4, 0]
    assert counts_by_cluster(blocks, [True, False, True, False, True]) == ([2, 1, 0], [3, 1, 1])
    assert block_numbers([], 30.0) == []
