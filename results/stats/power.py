"""The exact power of the comparison of two equal arms, and the size that reaches a power.

Owns: power of the two-sided Fisher test for independent units. Does not own: the test that is run (`two_arms`). Floor
3.
Source: the hypergeometric tail; with equal arms its law is symmetric, so the two-sided p is twice the one-sided one.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

_TAIL = 1e-9
"""Outcomes this unlikely on either side of an arm are left out; the power changes by less than 4 times this."""
_EXACT_OUTCOMES_MAX = 300
"""An arm with more likely outcomes than this has some hundred events; there the approximation is as good, and quick."""


def fisher_power(first_rate: float, second_rate: float, units: int, *, alpha: float) -> float:
    """The chance that Fisher's two-sided test tells two arms of `units` units each apart."""
    first, second = _likely(first_rate, units), _likely(second_rate, units)
    chance = stats.binom.pmf(first, units, first_rate)[:, None] * stats.binom.pmf(second, units, second_rate)
    more = np.maximum(first[:, None], second[None, :])
    totals = first[:, None] + second[None, :]
    least = int(totals.min())
    needed = _fewest_rejected(np.arange(least, int(totals.max()) + 1), units, alpha)
    return float(chance[more >= needed[totals - least]].sum())


def _fewest_rejected(totals: NDArray[np.int64], units: int, alpha: float) -> NDArray[np.int64]:
    """For each total of both arms' events, how many in one arm are too many to be chance. All by one bisection."""
    low, high = (totals - 1) // 2, np.minimum(totals, units) + 1
    while np.any(high - low > 1):
        middle = (low + high) // 2
        rejects = 2 * stats.hypergeom.sf(middle - 1, 2 * units, totals, units) <= alpha
        low, high = np.where(rejects, low, middle), np.where(rejects, middle, high)
    return high


def units_to_tell_apart(first_rate: float, second_rate: float, *, power: float, alpha: float) -> int:
    """Units in each arm with which the test has the power. Power climbs in a saw-tooth: this is a size that has it.

    Found by bisection between a size that has it and one that lacks it, so a slightly smaller one may have it too.
    """
    enough = _approximate(first_rate, second_rate, power, alpha)
    if len(_likely(max(first_rate, second_rate), enough)) > _EXACT_OUTCOMES_MAX:
        return enough
    while fisher_power(first_rate, second_rate, enough, alpha=alpha) < power:
        enough = ceil(1.25 * enough)
    short = enough // 2
    while short > 0 and fisher_power(first_rate, second_rate, short, alpha=alpha) >= power:
        enough, short = short, short // 2
    while enough - short > max(1, enough // 1_000):
        middle = (enough + short) // 2
        if fisher_power(first_rate, second_rate, middle, alpha=alpha) >= power:
            enough = middle
        else:
            short = middle
    return enough


def _approximate(first_rate: float, second_rate: float, power: float, alpha: float) -> int:
    """The normal approximation with a correction for continuity (Casagrande, Pike and Smith, Biometrics 34, 1978)."""
    quantile = float(special.ndtri(1 - alpha / 2)), float(special.ndtri(power))
    pooled, gap = (first_rate + second_rate) / 2, abs(first_rate - second_rate)
    spread = first_rate * (1 - first_rate) + second_rate * (1 - second_rate)
    plain = (quantile[0] * sqrt(2 * pooled * (1 - pooled)) + quantile[1] * sqrt(spread)) ** 2 / gap**2
    return max(2, ceil(plain / 4 * (1 + sqrt(1 + 4 / (plain * gap))) ** 2))


def _likely(rate: float, units: int) -> NDArray[np.int64]:
    """[outcome] int64, the counts of an arm that are not all but impossible."""
    law = stats.binom(units, rate)
    return np.arange(int(law.ppf(_TAIL)), int(law.isf(_TAIL)) + 1)
