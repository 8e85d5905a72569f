"""How long until the first corruption, when some runs end before they show any.

Owns: the Kaplan-Meier curve, its restricted mean and median, and the log-rank test of two groups. The time may be
turns, schedules or seconds. Does not own: rates. Floor 3. Source: scipy.stats.ecdf over CensoredData,
scipy.stats.logrank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy import stats

from results.stats.intervals import LEVEL

Times = tuple[Sequence[float], Sequence[bool]]


@dataclass(frozen=True, slots=True)
class Survival:
    """share[i] is the share without an event after times[i], within [low[i], high[i]] (log-log, one time by itself).

    restricted_mean: mean time without an event up to the longest time seen, the area under the curve.
    """

    times: tuple[float, ...]
    share: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    unit_count: int
    event_count: int
    restricted_mean: float

    @property
    def median(self) -> float | None:
        """The first time at which at most half are left; None where more than half never had an event."""
        return next((time for time, share in zip(self.times, self.share, strict=True) if share <= 0.5), None)


@dataclass(frozen=True, slots=True)
class LogRank:
    """p is two-sided."""

    statistic: float
    p: float


def kaplan_meier(times: Sequence[float], is_observed: Sequence[bool], level: float = LEVEL) -> Survival:
    """The curve of times to an event. Units whose event was not seen are kept as "not before".

    Assumes: units are independent, and those that ended early are no likelier to have an event than those that did not.
    """
    sample = _censored((times, is_observed))
    curve = stats.ecdf(sample).sf
    with catch_warnings():
        # At a share of 0 or 1 the log-log interval has no value; scipy warns and gives NaN, which is filled in below.
        simplefilter("ignore", RuntimeWarning)
        ends = curve.confidence_interval(confidence_level=level, method="log-log")
    share = curve.probabilities
    low = np.where(np.isnan(ends.low.probabilities), 0.0, ends.low.probabilities)
    high = np.where(np.isnan(ends.high.probabilities), 1.0, ends.high.probabilities)
    widths = np.diff(np.concatenate([[0.0], curve.quantiles]))
    before = np.concatenate([[1.0], share[:-1]])
    return Survival(
        times=tuple(map(float, curve.quantiles)),
        share=tuple(map(float, share)),
        low=tuple(map(float, low)),
        high=tuple(map(float, high)),
        unit_count=len(times),
        event_count=sum(map(bool, is_observed)),
        restricted_mean=float(widths @ before),
    )


def log_rank(first: Times, second: Times) -> LogRank:
    """Do two groups have their events equally soon? Where nothing can differ, p = 1: without any event, or where all
    units have theirs at the same first time."""
    if not (any(first[1]) or any(second[1])):
        return LogRank(0.0, 1.0)
    with catch_warnings():
        # Without variance scipy divides by zero, warns and gives NaN.
        simplefilter("ignore", RuntimeWarning)
        found = stats.logrank(_censored(first), _censored(second))
    return LogRank(0.0, 1.0) if np.isnan(found.pvalue) else LogRank(float(found.statistic), float(found.pvalue))


def _censored(group: Times) -> stats.CensoredData:
    times, is_observed = np.asarray(group[0], dtype=np.float64), np.asarray(group[1], dtype=bool)
    assert times.shape == is_observed.shape and len(times) > 0, (times.shape, is_observed.shape)
    assert np.all(times >= 0), "times begin at 0"
    return stats.CensoredData.right_censored(times, ~is_observed)
