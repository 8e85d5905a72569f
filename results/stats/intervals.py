"""Intervals for one rate of independent units.

Owns: Clopper-Pearson (for claims), Wilson (for plots), the exact one-sided bound at zero events, and how many units
such a bound needs. Does not own: units that depend on each other (`clusters`, `seeds`). Floor 3.
Source: Clopper and Pearson, Biometrika 26 (1934); Wilson, JASA 22 (1927); quantiles by scipy.special, which loads
in a third of the time of scipy.stats.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log1p, sqrt

from scipy import special

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval [low, high] around it, with how it was made and over how many units."""

    estimate: float
    low: float
    high: float
    unit_count: int
    level: float
    method: str


def clopper_pearson(events: float, units: float, level: float = LEVEL) -> Interval:
    """The exact interval of a rate: covers the true rate with at least `level`, whatever the rate.

    Assumes: `units` independent units, each an event with the same chance. No units give [0, 1]. Fractions are for
    effective sample sizes, and then nothing is exact any more.
    """
    _check(events, units, level)
    tail = (1 - level) / 2
    low = float(special.betaincinv(events, units - events + 1, tail)) if events else 0.0
    high = float(special.betaincinv(events + 1, units - events, 1 - tail)) if events < units else 1.0
    return Interval(_rate(events, units), low, high, round(units), level, "Clopper-Pearson")


def wilson(events: float, units: float, level: float = LEVEL) -> Interval:
    """The score interval of a rate: covers `level` on average over rates, less for some; for plots.

    Assumes: as `clopper_pearson`. Counts may be fractions, for effective sample sizes. No units give [0, 1].
    """
    _check(events, units, level)
    if units == 0:
        return Interval(_rate(events, units), 0.0, 1.0, 0, level, "Wilson")
    z = float(special.ndtri(1 - (1 - level) / 2))
    rate, shrink = events / units, 1 + z * z / units
    middle = (rate + z * z / (2 * units)) / shrink
    half = z * sqrt(rate * (1 - rate) / units + z * z / (4 * units * units)) / shrink
    low = 0.0 if events == 0 else max(0.0, middle - half)
    high = 1.0 if events == units else min(1.0, middle + half)
    return Interval(rate, low, high, round(units), level, "Wilson")


def upper_bound_at_zero(units: int, level: float = LEVEL) -> float:
    """The largest rate that no event in `units` units leaves open, one-sided: 0 of 60 leaves 4.9 %.

    Assumes: independent units with one rate. It is the p for which (1 - p) ** units = 1 - level.
    """
    _check(0, units, level)
    return 1.0 if units == 0 else float(-special.expm1(log1p(-level) / units))


def units_for_bound(rate: float, level: float = LEVEL) -> int:
    """How many units without an event it takes to claim a rate below `rate`: below 0.1 % takes 2,995."""
    assert 0 < rate < 1, rate
    return ceil(log(1 - level) / log1p(-rate))


def _rate(events: float, units: float) -> float:
    return events / units if units else float("nan")


def _check(events: float, units: float, level: float) -> None:
    assert 0 <= events <= units, (events, units)
    assert 0 < level < 1, level
