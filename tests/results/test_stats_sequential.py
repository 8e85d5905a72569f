"""Procedures for every look: fair bets by enumeration, closed forms, decisions on planted arms. Floor: tests."""

from __future__ import annotations

from itertools import product
from math import comb, exp, inf, log

import numpy as np
import pytest
from scipy import stats

from results.stats.always_valid import rate_evidence, rate_sequence
from results.stats.betting import evidence_below, log_capital, mean_sequence
from results.stats.sequential import ArmCounts, ArmVerdict, Sequential
from results.stats.sprt import SprtDecision, sprt
from results.stats.symmetry import anytime_p, pair_evidence


def test_the_beta_binomial_sequence_at_known_counts() -> None:
    """Measured apart from this code (facts of the project): 8.9 % at 0 of 60, 0.25 % at 0 of 3,000."""
    assert rate_sequence(0, 60).high == pytest.approx(0.0894, abs=5e-5)
    assert rate_sequence(0, 3_000).high == pytest.approx(0.0025, abs=5e-5)
    assert rate_sequence(60, 60).low == pytest.approx(1 - rate_sequence(0, 60).high)
    assert (rate_sequence(0, 0).low, rate_sequence(0, 0).high) == (0.0, 1.0)


@pytest.mark.parametrize(("events", "units"), [(1, 3), (9, 60), (59, 60)])
def test_the_ends_of_the_sequence_are_where_the_mixture_is_20_times_likelier(events: int, units: int) -> None:
    """The mixture by numerical integration over Jeffreys' law."""
    found = rate_sequence(events, units)
    mixture = stats.beta(0.5, 0.5).expect(lambda rate: stats.binom.pmf(events, units, rate))
    for end in (found.low, found.high):
        assert mixture / stats.binom.pmf(events, units, end) == pytest.approx(20, rel=1e-4)
    assert found.low < events / units < found.high


@pytest.mark.parametrize("rate", [0.001, 0.02, 0.05])
def test_the_e_value_of_a_rate_cannot_be_expected_to_grow(rate: float) -> None:
    """Over all outcomes of 40 units its mean is 1 at the bound, and less below it."""
    mean = sum(float(stats.binom.pmf(k, 40, rate)) * rate_evidence(k, 40, at_most=0.05) for k in range(41))
    assert mean == pytest.approx(1.0) if rate == 0.05 else mean < 1


def test_the_e_value_of_a_rate_sees_corruption() -> None:
    assert rate_evidence(3, 13, at_most=0.005) > 20
    assert rate_evidence(0, 3_000, at_most=0.005) < 0.1
    assert rate_evidence(4_000, 4_000, at_most=0.005) == inf


@pytest.mark.parametrize("mean", [0.05, 0.3])
def test_capital_against_the_true_mean_is_fair(mean: float) -> None:
    """Over every sequence of ten seeds that are 0 or 0.6 with this mean, the capital's mean is 1."""
    chance = mean / 0.6
    total = 0.0
    for struck in range(11):
        values = np.array([0.6] * struck + [0.0] * (10 - struck))
        weight = comb(10, struck) * chance**struck * (1 - chance) ** (10 - struck)
        total += weight * exp(log_capital(values, mean))
    assert total == pytest.approx(1.0)


def test_the_interval_of_a_mean_ends_where_the_capital_is_20() -> None:
    values = [0.0, 0.1, 0.05, 0.4, 0.15, 0.1, 0.0, 0.2]
    found = mean_sequence(values)
    for end in (found.low, found.high):
        assert log_capital(np.array(values), end) == pytest.approx(log(20), abs=1e-2)
    shifted = mean_sequence([2 * value - 1 for value in values], low=-1.0)
    assert (shifted.low, shifted.high) == pytest.approx((2 * found.low - 1, 2 * found.high - 1), abs=1e-5)


def test_clean_seeds_narrow_the_interval_and_never_close_it() -> None:
    highs = [mean_sequence([0.0] * count).high for count in (0, 1, 5, 20, 100)]
    assert highs == sorted(highs, reverse=True)
    assert highs[0] == 1.0
    # No test at 5 %, looked at once, can do better than the exact bound.
    assert all(high > 1 - 0.05 ** (1 / count) for high, count in zip(highs[1:], (1, 5, 20, 100), strict=True))
    assert mean_sequence([1.0] * 3).high == 1.0


def test_evidence_of_a_low_mean() -> None:
    """Clean seeds: the largest stake gains 1 / 0.95 each and holds half of the capital; no stake gains more."""
    assert 0.5 * 0.95**-80 < evidence_below([0.0] * 80, 0.05) < 0.95**-80
    assert evidence_below([0.2] * 80, 0.05) < 0.1


def test_the_pair_bet_is_fair_over_all_signs() -> None:
    sizes = np.array([0.0, 0.01, 0.05, 0.3, 0.15, 1.0, 0.02, 0.07])
    ends = [pair_evidence((sizes * np.array(signs)).tolist())[-1] for signs in product((1, -1), repeat=8)]
    assert np.mean(ends) == pytest.approx(1.0)


def test_the_pair_bet_grows_on_either_side_and_rests_on_equal_arms() -> None:
    assert pair_evidence([0.0, 0.0]) == pytest.approx([1.0, 1.0])
    assert pair_evidence([0.15] * 7)[-1] == pytest.approx(pair_evidence([-0.15] * 7)[-1])
    assert pair_evidence([0.15] * 7)[-1] > 20
    assert pair_evidence([0.15] * 7)[-1] < 2**7, "no more than a bet on seven coins"
    assert np.isfinite(pair_evidence([1.0] * 500)[-1])
    assert anytime_p([]) == 1.0
    assert anytime_p([0.5, 40.0, 2.0]) == 1 / 40


def _seeds(count: int, **corrupted: int) -> list[dict[str, ArmCounts]]:
    return [{arm: ArmCounts(hits, 60) for arm, hits in corrupted.items()}] * count


def test_arms_that_differ_are_decided_within_few_seeds() -> None:
    plan = Sequential("off", ("bf16", "better"))
    early, late = (plan.look(_seeds(count, off=6, bf16=15, better=0)) for count in (3, 12))
    assert [arm.verdict for arm in early.arms] == [ArmVerdict.UNDECIDED] * 2
    assert [arm.verdict for arm in late.arms] == [ArmVerdict.HIGHER, ArmVerdict.LOWER]
    assert (early.decided, late.decided, late.seed_count) == (False, True, 12)
    assert late.arms[0].p_adjusted <= 0.05
    assert late.arms[0].sentence.startswith("bf16 is higher than off by 15.0 points")
    assert early.sentence == "after 3 seeds undecided: bf16, better (valid at every look, unit: the seed)"


def test_clean_arms_are_bounded_sooner_with_a_known_design_effect() -> None:
    """Without one nothing can decide before 0.95 ** n is 5 %, at seed 59."""
    plain, knowing = Sequential("off", ("gated",)), Sequential("off", ("gated",), design_effect=7.0)
    first = {
        name: next(count for count in range(1, 200) if plan.look(_seeds(count, off=0, gated=0)).decided)
        for name, plan in (("plain", plain), ("knowing", knowing))
    }
    assert 59 <= first["plain"] <= 75
    assert 7 <= first["knowing"] <= 14
    assert plain.look(_seeds(80, off=0, gated=0)).arms[0].verdict is ArmVerdict.BOUNDED


def test_one_event_takes_the_bet_on_silence_away() -> None:
    plan = Sequential("off", ("gated",), design_effect=7.0)
    seeds = [*_seeds(29, off=0, gated=0), *_seeds(1, off=0, gated=1)]
    assert plan.look(seeds).arms[0].verdict is ArmVerdict.UNDECIDED


def test_seeds_that_could_not_be_judged_are_counted_and_left_out() -> None:
    seeds = [*_seeds(9, off=0, bf16=9), {"off": ArmCounts(0, 0), "bf16": ArmCounts(30, 60)}]
    arm = Sequential("off", ("bf16",)).look(seeds).arms[0]
    assert (arm.seeds_used, arm.seeds_skipped) == (9, 1)
    assert arm.difference.estimate == pytest.approx(0.15)


def test_nothing_is_decided_before_the_first_seed() -> None:
    look = Sequential("off", ("bf16",)).look([])
    assert (look.decided, look.arms[0].p, look.arms[0].difference.high) == (False, 1.0, 1.0)


def test_sprt_stops_where_walds_lines_are() -> None:
    """0.5 % against 10 % at 1 % each: 46 clean units, or the second event, whichever comes first."""
    plan = {"sound_rate": 0.005, "corrupt_rate": 0.1}
    clean = sprt([False] * 100, **plan)
    assert (clean.decision, clean.units_used) == (SprtDecision.SOUND, 46)
    struck = sprt([True, True], **plan)
    assert (struck.decision, struck.units_used) == (SprtDecision.CORRUPT, 2)
    assert sprt([False] * 10, **plan).decision is SprtDecision.UNDECIDED
    assert sprt([False] * 100, **plan).log_ratio == pytest.approx(46 * log(0.9 / 0.995))
