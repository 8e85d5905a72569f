"""False alarms and power of the comparisons of two arms.

Owns: which tests are compared, on which scenes. Does not own: the scenes (`coverage_scenes`).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import stats

from benchmarks.coverage_scenes import SESSIONS, Cell, Table, draw, scene_cells, share
from results.stats.holm import holm
from results.stats.seeds import paired_difference
from results.stats.two_arms import boschloo

_SEED_COUNTS = (15, 20)
"""Above `seeds.EXACT_SEEDS_MAX`: counting all sign patterns of ten seeds takes scipy a tenth of a second each time."""
_PAIRS = ((0.05, 0.05), (0.15, 0.15), (0.15, 0.05))
_CORRELATIONS = (0.0, 0.1)
_RESAMPLES = 499
_FAMILY = ("a", "b", "c", "d")
_ALPHA = 0.05


@cache
def _boschloo_p(first: int, second: int, units: int) -> float:
    return boschloo((first, units), (second, units)).p


def two_arm_tests(rng: np.random.Generator, repeats: int) -> Table:
    """How often each test says that two arms differ, at 5 %: false alarms where the rates are equal, else power."""
    rows: list[tuple[Cell, ...]] = []
    for seeds in _SEED_COUNTS:
        for first_rate, second_rate in _PAIRS:
            for correlation in _CORRELATIONS:
                pooled = struck = permutation = wilcoxon = 0
                firsts = draw(rng, first_rate, correlation, seeds, repeats)
                seconds = draw(rng, second_rate, correlation, seeds, repeats)
                for first, second in zip(firsts, seconds, strict=True):
                    pooled += _boschloo_p(int(first.sum()), int(second.sum()), SESSIONS * seeds) <= _ALPHA
                    struck += _boschloo_p(int((first > 0).sum()), int((second > 0).sum()), seeds) <= _ALPHA
                    rates = (first / SESSIONS).tolist(), (second / SESSIONS).tolist()
                    found = _paired_p(rates, rng)
                    permutation += found[0] <= _ALPHA
                    wilcoxon += found[1] <= _ALPHA
                cells = (share(count, repeats) for count in (pooled, struck, permutation, wilcoxon))
                rate, effect = scene_cells(first_rate, correlation)
                rows.append((seeds, rate, f"{100 * second_rate:g} %", effect, *cells))
    columns = ("seeds", "rate", "other rate", "design effect", "pooled sessions", "Boschloo over struck seeds")
    return Table("two-arms", repeats, (*columns, "paired permutation", "Wilcoxon"), tuple(rows))


def _paired_p(rates: tuple[list[float], list[float]], rng: np.random.Generator) -> tuple[float, float]:
    found = paired_difference(*rates, rng=rng, resamples=_RESAMPLES)
    return found.p_permutation, found.p_wilcoxon


def boschloo_size(units: int) -> Table:
    """The exact false-alarm rate of Boschloo's test, summed over all outcomes of two equal arms; Fisher's beside it."""
    rates = np.array([0.005, 0.01, 0.02, 0.05, 0.1, 0.15])
    most = int(stats.binom.isf(1e-6, units, rates.max()))
    rejected = np.zeros((most + 1, most + 1, 2))
    for first in range(most + 1):
        for second in range(first):
            table = [[first, second], [units - first, units - second]]
            found = _boschloo_p(first, second, units), float(stats.fisher_exact(table).pvalue)
            rejected[first, second] = rejected[second, first] = [p <= _ALPHA for p in found]
    outcomes = np.arange(most + 1)
    rows: list[tuple[Cell, ...]] = []
    for rate in rates:
        chance = stats.binom.pmf(outcomes, units, rate)
        sizes = np.einsum("i,j,ijk->k", chance, chance, rejected)
        rows.append((units, f"{100 * rate:g} %", *(f"{100 * size:.2f} %" for size in sizes)))
    return Table(f"boschloo-{units}", 0, ("units an arm", "rate of both", "Boschloo", "Fisher"), tuple(rows))


def family_errors(rng: np.random.Generator, repeats: int) -> Table:
    """Chance of any false alarm among four comparisons of independent arms of 60 units; with and without Holm."""
    rows: list[tuple[Cell, ...]] = []
    for rate in (0.05, 0.15):
        alone = adjusted = 0
        events = rng.binomial(SESSIONS, rate, (repeats, len(_FAMILY), 2))
        for run in events.tolist():
            found = {name: _boschloo_p(*pair, SESSIONS) for name, pair in zip(_FAMILY, run, strict=True)}
            alone += min(found.values()) <= _ALPHA
            adjusted += any(comparison.is_rejected for comparison in holm(_FAMILY, found, alpha=_ALPHA))
        rows.append((f"{100 * rate:g} %", share(alone, repeats), share(adjusted, repeats)))
    return Table("holm", repeats, ("rate of all arms", "any false alarm, unadjusted", "any, Holm"), tuple(rows))
