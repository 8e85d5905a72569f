"""Two arms, and many comparisons, against enumeration, published figures and statsmodels. Floor: tests."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from results.stats.holm import UnplannedComparison, holm
from results.stats.two_arms import Alternative, boschloo


def _boschloo_by_enumeration(first: tuple[int, int], second: tuple[int, int]) -> float:
    """One-sided, "the first rate is higher": the most, over common rates, of the chance of a Fisher p as small."""
    (hits, size), (other_hits, other_size) = first, second

    def fisher(mine: int, other: int) -> float:
        total = mine + other
        ways = (comb(size, k) * comb(other_size, total - k) for k in range(mine, min(size, total) + 1))
        return sum(ways) / comb(size + other_size, total)

    observed = fisher(hits, other_hits)
    rates = np.linspace(0, 1, 2_001)
    chance = np.zeros_like(rates)
    for mine in range(size + 1):
        for other in range(other_size + 1):
            if fisher(mine, other) <= observed * (1 + 1e-9):
                weight = comb(size, mine) * comb(other_size, other)
                total = mine + other
                chance += weight * rates**total * (1 - rates) ** (size + other_size - total)
    return float(chance.max())


@pytest.mark.parametrize(("first", "second"), [((7, 12), (4, 30)), ((3, 8), (1, 25)), ((5, 20), (0, 9))])
def test_the_arms_are_the_groups(first: tuple[int, int], second: tuple[int, int]) -> None:
    """Arms of unequal size: with the table's axes exchanged the p-value is another one."""
    found = boschloo(first, second, Alternative.FIRST_HIGHER)
    assert found.p == pytest.approx(_boschloo_by_enumeration(first, second), rel=1e-3)
    assert found.difference == pytest.approx(first[0] / first[1] - second[0] / second[1])
    misses = (first[1] - first[0], second[1] - second[0])
    turned = (first[0], first[0] + second[0]), (misses[0], sum(misses))
    assert boschloo(*turned, Alternative.FIRST_HIGHER).p != pytest.approx(found.p, rel=1e-2)


def test_the_published_example() -> None:
    """SciPy's page: 74 of 117 professors against 31 of 63 scientists, "greater", p = 0.0355."""
    assert boschloo((74, 117), (31, 63), Alternative.FIRST_HIGHER).p == pytest.approx(0.0355, abs=1e-4)


def test_the_other_side_and_both_sides() -> None:
    higher, lower = (boschloo((7, 60), (0, 60), side).p for side in (Alternative.FIRST_HIGHER, Alternative.FIRST_LOWER))
    assert higher == pytest.approx(boschloo((0, 60), (7, 60), Alternative.FIRST_LOWER).p)
    assert lower > 0.9
    both = boschloo((0, 60), (7, 60))
    assert both.p == pytest.approx(2 * higher)
    assert both.p == pytest.approx(0.0079, abs=5e-5)
    assert both.method == "Boschloo"


def test_arms_that_cannot_differ() -> None:
    for first, second in (((0, 60), (0, 20)), ((5, 5), (60, 60))):
        assert boschloo(first, second).p == 1.0


def test_large_arms_are_given_to_fisher() -> None:
    found = boschloo((6, 600), (0, 600))
    assert found.method == "Fisher's exact test"
    assert found.p == pytest.approx(2 * comb(600, 6) / comb(1_200, 6))


@pytest.mark.parametrize("p_values", [[0.03], [0.01, 0.02, 0.03, 0.04], [0.04, 0.001, 0.04, 0.012, 1.0, 0.0]])
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    names = [f"c{at}" for at in range(len(p_values))]
    found = holm(names, dict(zip(names, p_values, strict=True)))
    rejected, adjusted, _, _ = multipletests(p_values, alpha=0.05, method="holm")
    assert [comparison.p_adjusted for comparison in found] == pytest.approx(list(adjusted))
    assert [comparison.is_rejected for comparison in found] == list(rejected)


def test_a_comparison_that_was_not_made_still_counts() -> None:
    found = holm(("kept", "lost"), {"kept": 0.03})
    assert [comparison.p_adjusted for comparison in found] == [0.06, 1.0]
    assert [comparison.p for comparison in found] == [0.03, None]
    assert not found[0].is_rejected
    assert holm(("kept",), {"kept": 0.03})[0].is_rejected
    assert holm((), {}) == ()


def test_a_comparison_that_was_not_planned_is_refused() -> None:
    with pytest.raises(UnplannedComparison, match=r"'bf16 on Tuesday' was not planned; allowed: bf16"):
        holm(("bf16",), {"bf16 on Tuesday": 0.01})
