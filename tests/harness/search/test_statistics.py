"""Statistics over seeds against figures computed by hand and by another road."""

from __future__ import annotations

from math import sqrt

import pytest

from harness.search.statistics import compare_seeds, seed_statistics, stale_layer_counts
from tests.harness.search.record_builder import record


def test_mean_of_seeds_with_the_t_interval_over_them() -> None:
    found = seed_statistics([record(0, 1), record(1, 2), record(2, 6)])
    assert found.rate == pytest.approx(0.3)
    # By hand: deviations -0.2, -0.1, 0.3; standard deviation sqrt(0.14 / 2); t(0.975, 2) = 4.3027.
    half = 4.302653 * sqrt(0.14 / 2) / sqrt(3)
    assert found.low == 0.0
    assert found.high == pytest.approx(0.3 + half)
    assert (found.rate_min, found.rate_max) == (0.1, 0.6)
    assert (found.sessions, found.sessions_corrupted, found.sessions_primary) == (30, 9, 9)
    assert found.host_hit_share == pytest.approx(0.25)


def test_seed_that_could_not_be_judged_is_no_zero() -> None:
    blind = record(1, session_rate=None, sessions_judged=0, verdict="unknown")
    found = seed_statistics([record(0, 4), blind, record(2, 2)])
    assert (found.seeds, found.seeds_judged, found.seeds_unknown) == (3, 2, 1)
    assert found.rate == pytest.approx(0.3)


def test_one_seed_has_a_rate_and_no_interval() -> None:
    found = seed_statistics([record(0, 4)])
    assert (found.rate, found.low, found.high) == (0.4, None, None)
    nothing = seed_statistics([record(0, session_rate=None)])
    assert (nothing.rate, nothing.rate_min) == (None, None)


def test_zero_in_every_seed_leaves_a_rate_open() -> None:
    found = seed_statistics([record(seed) for seed in range(20)])
    assert (found.rate, found.low) == (0.0, 0.0)
    # Exact bound over 20 seeds: 1 - 0.025 ** (1 / 20).
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 20))


def test_two_records_of_one_seed_are_our_bug() -> None:
    with pytest.raises(AssertionError, match="one record a seed"):
        seed_statistics([record(0), record(0)])


def test_kinds_and_layers_are_summed() -> None:
    records = [
        record(0, 1, kinds={"token_salad": 2}, turns_by_stale_layers={0: (10, 0), 12: (3, 1)}),
        record(1, 1, kinds={"token_salad": 1, "lost_call": 4}, turns_by_stale_layers={12: (1, 1), 20: (5, 5)}),
    ]
    assert seed_statistics(records).kinds == {"lost_call": 4, "token_salad": 3}
    assert stale_layer_counts(records) == {0: (10, 0), 12: (4, 2), 20: (5, 5)}


def test_difference_is_paired_by_seed_whatever_the_order() -> None:
    first = [record(0, 5), record(1, 6), record(2, 9)]
    second = [record(2, 7), record(1, 5), record(0, 4)]
    found = compare_seeds(first, second)
    assert found is not None
    assert found.difference == pytest.approx((0.1 + 0.1 + 0.2) / 3)
    assert (found.seed_count, found.seeds_higher, found.seeds_lower) == (3, 3, 0)
    # Eight sign patterns, of which the one seen and its mirror are the most extreme.
    assert found.p_permutation == pytest.approx(2 / 8)


def test_difference_needs_two_seeds_that_both_could_judge() -> None:
    blind = record(1, session_rate=None)
    assert compare_seeds([record(0, 5), record(1, 5)], [record(0, 4), blind]) is None
    assert compare_seeds([record(0, 5), record(1, 5)], [record(3, 4), record(4, 4)]) is None


def test_difference_of_two_seeds_is_given_without_a_warning() -> None:
    found = compare_seeds([record(0, 5), record(1, 6)], [record(0, 4), record(1, 2)])
    assert found is not None
    assert found.difference == pytest.approx(0.25)
