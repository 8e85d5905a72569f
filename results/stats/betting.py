"""The mean of bounded values, valid at every look and for any shape: the unit is the seed.

Owns: the confidence sequence by betting. Each seed brings one value (a rate in [0, 1], or a paired difference in [-1,
1]); nothing else is assumed of its shape, so how the sessions of a seed depend on each other does not matter. Does
not own: the test of two exchangeable arms (`symmetry`). Floor 3.
Source: Waudby-Smith and Ramdas, JRSS B 86 (2024): for the true mean, capital that bets on the next value cannot be
expected to grow, so by Ville's inequality it ever reaches 1 / alpha with a chance of at most alpha. Here the capital
is spread once over fixed stakes: half of it on the largest, which is best while every seed is clean, half evenly over
the arcsine-law nodes of a universal portfolio. Any other spread would be as valid, and wider or narrower.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from results.stats.intervals import LEVEL, Interval

_NODE_COUNT = 32
_NODES = np.sin(np.pi * (2 * np.arange(_NODE_COUNT) + 1) / (4 * _NODE_COUNT)) ** 2
_STAKES = np.append(_NODES, 1 - 1e-9)
"""Shares of the most that may be staked without debt."""
_WEIGHTS = np.append(np.full(_NODE_COUNT, 0.5 / _NODE_COUNT), 0.5)
_EDGE = 1e-9
_PRECISION = 1e-6
"""Of an interval's ends; four orders below what is ever shown."""


def mean_sequence(values: Sequence[float], level: float = LEVEL, *, low: float = 0.0, high: float = 1.0) -> Interval:
    """The interval of the mean of values in [low, high]; those of all looks hold at once with chance `level`.

    Assumes: given the seeds before it, each seed's expected value is the same mean. No values give [low, high].
    """
    raw = np.asarray(values, dtype=np.float64)
    assert np.all((raw >= low) & (raw <= high)), "a value lies outside of its bounds"
    method = "betting confidence sequence over seeds"
    if len(raw) == 0:
        return Interval(float("nan"), low, high, 0, level, method)
    scaled = (raw - low) / (high - low)
    mean, threshold = float(scaled.mean()), -log(1 - level)

    def excess(at: float) -> float:
        return log_capital(scaled, at) - threshold

    # Each side's capital is a product of positive convex functions that all fall, or all rise, so their sum is convex
    # and at most 1 at the mean of the values: one root on each side of it, or none.
    centre = min(max(mean, _EDGE), 1 - _EDGE)
    lower = optimize.brentq(excess, _EDGE, centre, xtol=_PRECISION) if excess(_EDGE) > 0 > excess(centre) else 0.0
    upper = (
        optimize.brentq(excess, centre, 1 - _EDGE, xtol=_PRECISION) if excess(1 - _EDGE) > 0 > excess(centre) else 1.0
    )
    span = high - low
    return Interval(float(raw.mean()), low + span * lower, low + span * upper, len(raw), level, method)


def evidence_below(values: Sequence[float], bound: float, *, low: float = 0.0, high: float = 1.0) -> float:
    """The e-value against "the mean of these values in [low, high] is `bound` or more", after all of them.

    Reject at 1 / alpha or more, at any look. For the other side, turn the signs of values, bound and ends.
    """
    assert low < bound < high, (low, bound, high)
    scaled = (np.asarray(values, dtype=np.float64) - low) / (high - low)
    return float(np.exp(min(700.0, _log_side(scaled, (bound - low) / (high - low), -1))))


def log_capital(values: NDArray[np.float64], mean: float) -> float:
    """Log of the capital that bet against `mean` on values in [0, 1], half on each side.

    The interval is where this is below -log(1 - level). At the mean of the values it is at most 0.
    """
    higher, lower = _log_side(values, mean, 1), _log_side(values, mean, -1)
    return float(np.logaddexp(higher, lower) - log(2))


def _log_side(values: NDArray[np.float64], mean: float, side: int) -> float:
    """Log of the capital on one side: +1 bets that values lie above `mean`, -1 below."""
    most = 1 / mean if side > 0 else 1 / (1 - mean)
    growth = np.log1p(side * most * np.outer(_STAKES, values - mean)).sum(axis=1)
    peak = float(growth.max())
    return peak + log(float(_WEIGHTS @ np.exp(growth - peak)))
