"""Statistics over seeds against enumeration, closed forms and simulation. Floor: tests."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from results.stats.seeds import MeanMethod, mean_rate, paired_difference

RATES = [0.10, 0.15, 0.1333, 0.1833, 0.1167, 0.15, 0.20, 0.1333]
OTHER = [0.05, 0.1333, 0.15, 0.1167, 0.0833, 0.1333, 0.15, 0.10]


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_t_interval_against_the_table() -> None:
    """Student's two-sided 95 % quantile for 7 degrees of freedom is 2.365."""
    interval = mean_rate(RATES, rng=rng())
    half = 2.364624 * np.std(RATES, ddof=1) / np.sqrt(8)
    assert (interval.low, interval.high) == pytest.approx((np.mean(RATES) - half, np.mean(RATES) + half), abs=1e-6)
    assert interval.unit_count == 8


def test_bootstrap_interval_is_repeatable_and_near_the_t_interval() -> None:
    first = mean_rate(RATES, rng=rng(), method=MeanMethod.BOOTSTRAP)
    assert first == mean_rate(RATES, rng=rng(), method=MeanMethod.BOOTSTRAP)
    by_t = mean_rate(RATES, rng=rng())
    assert (first.low, first.high) == pytest.approx((by_t.low, by_t.high), abs=0.012)
    assert first.method == "BCa bootstrap over seeds"


def test_rates_stay_between_none_and_all() -> None:
    interval = mean_rate([0.0] * 5 + [0.01], rng=rng())
    assert interval.low == 0.0
    assert mean_rate([1.0] * 5 + [0.9], rng=rng()).high == 1.0


def test_seeds_without_spread_are_bounded_exactly() -> None:
    """Twenty seeds of 0 do not prove 0: an interval [0, 0] would."""
    interval = mean_rate([0.0] * 20, rng=rng())
    assert (interval.estimate, interval.low) == (0.0, 0.0)
    assert interval.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert interval.method == "Clopper-Pearson over seeds"
    assert mean_rate([1.0] * 20, rng=rng()).low == pytest.approx(0.025 ** (1 / 20))


def test_permutation_p_is_the_share_of_sign_patterns() -> None:
    """By enumeration of all 2 ** 8 patterns, two-sided as twice the smaller tail."""
    found = paired_difference(RATES, OTHER, rng=rng())
    differences = np.array(RATES) - np.array(OTHER)
    means = [float(np.mean(differences * np.array(signs))) for signs in product((1, -1), repeat=8)]
    above = sum(mean >= differences.mean() - 1e-12 for mean in means) / len(means)
    below = sum(mean <= differences.mean() + 1e-12 for mean in means) / len(means)
    assert found.p_permutation == pytest.approx(min(1.0, 2 * min(above, below)))
    assert (found.seed_count, found.seeds_higher, found.seeds_lower) == (8, 7, 1)
    assert found.difference == pytest.approx(differences.mean())


def test_a_constant_gap_has_the_smallest_p_that_the_seeds_allow() -> None:
    found = paired_difference([0.2] * 6, [0.1] * 6, rng=rng())
    assert found.p_permutation == pytest.approx(2 / 2**6)
    assert found.p_wilcoxon == pytest.approx(2 / 2**6)
    assert found.interval_bootstrap.method == "all seeds equal: no spread to resample"


def test_equal_arms_do_not_differ() -> None:
    found = paired_difference(RATES, RATES, rng=rng())
    assert (found.difference, found.p_permutation, found.p_wilcoxon) == (0.0, 1.0, 1.0)
    assert (found.interval_t.low, found.interval_t.high) == (0.0, 0.0)


def test_swapping_the_arms_flips_the_sign_and_keeps_the_p() -> None:
    one, other = paired_difference(RATES, OTHER, rng=rng()), paired_difference(OTHER, RATES, rng=rng())
    assert one.difference == pytest.approx(-other.difference)
    assert one.p_permutation == pytest.approx(other.p_permutation)
    assert one.interval_t.low == pytest.approx(-other.interval_t.high)


def test_twenty_seeds_are_sampled_repeatably() -> None:
    first, second = rng(1).normal(0.15, 0.04, 20).clip(0, 1), rng(2).normal(0.10, 0.04, 20).clip(0, 1)
    found = paired_difference(first.tolist(), second.tolist(), rng=rng())
    assert found == paired_difference(first.tolist(), second.tolist(), rng=rng())
    assert 0 < found.p_permutation < 0.05
    assert found.interval_t.low <= found.difference <= found.interval_t.high


@pytest.mark.parametrize("gap", [0.0, 0.03])
def test_paired_intervals_cover_and_tests_hold_their_level(gap: float) -> None:
    """20 seeds of 60 sessions; the seeds differ more from each other than the arms do, which pairing takes out."""
    generator = rng(99)
    repeats, covered_t, covered_bootstrap, permutation, wilcoxon = 250, 0, 0, 0, 0
    for _ in range(repeats):
        chances = generator.normal(0.15, 0.03, 20).clip(0.05, 0.9)
        first = generator.binomial(60, chances) / 60
        second = generator.binomial(60, chances - gap) / 60
        found = paired_difference(first.tolist(), second.tolist(), rng=generator, resamples=399)
        covered_t += found.interval_t.low <= gap <= found.interval_t.high
        covered_bootstrap += found.interval_bootstrap.low <= gap <= found.interval_bootstrap.high
        permutation += found.p_permutation <= 0.05
        wilcoxon += found.p_wilcoxon <= 0.05
    assert 0.92 <= covered_t / repeats <= 0.98
    assert 0.89 <= covered_bootstrap / repeats <= 0.97
    for rejected in (permutation, wilcoxon):
        assert rejected / repeats < 0.08 if gap == 0 else rejected / repeats > 0.4


@pytest.mark.parametrize(("first", "second"), [([0.1], [0.1]), ([0.1, 0.2], [0.1])])
def test_too_few_or_unpaired_seeds_are_our_bug(first: list[float], second: list[float]) -> None:
    with pytest.raises((AssertionError, ValueError)):
        paired_difference(first, second, rng=rng())


def test_a_rate_outside_of_none_and_all_is_our_bug() -> None:
    with pytest.raises(AssertionError):
        mean_rate([0.1, 1.2], rng=rng())
