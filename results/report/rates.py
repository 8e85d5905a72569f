"""Rates as a report shows them: counts, share, interval, and what a zero leaves open.

Owns: turning intervals into `Rate`. Does not own: the statistics (`results.stats`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from results.report.parts import Rate
from results.stats.arm_rate import arm_rate
from results.stats.clusters import clustered_rate
from results.stats.intervals import Interval, clopper_pearson
from results.stats.zero import zero_bound

_ROOM = 1.3
NOTHING = Rate(0, 0, None, 0.0, 1.0, "nothing to count")


def independent(events: int, units: int, *, seeds: int) -> Rate:
    """The share of sessions as if they were independent, with its exact interval; a zero also says what if not."""
    if units == 0:
        return NOTHING
    return with_zero(events, units, clopper_pearson(events, units), clusters=seeds, unit="session", cluster="seed")


def by_session(events: Sequence[int], units: Sequence[int]) -> Rate:
    """The share of turns, for figures: one entry a session, whose turns depend on each other."""
    if not sum(units):
        return NOTHING
    clusters = sum(size > 0 for size in units)
    interval = clustered_rate(events, units)
    return with_zero(sum(events), sum(units), interval, clusters=clusters, unit="turn", cluster="session")


def by_seed(events: Sequence[int], units: Sequence[int], *, unit: str) -> Rate:
    """The share of turns or sessions of an arm, for claims: one entry a seed."""
    if not sum(units):
        return NOTHING
    clusters = sum(size > 0 for size in units)
    interval = arm_rate(events, units)
    return with_zero(sum(events), sum(units), interval, clusters=clusters, unit=unit, cluster="seed")


def with_zero(events: int, units: int, interval: Interval, *, clusters: int, unit: str, cluster: str) -> Rate:
    """The interval as it stands; where there is no event, what that leaves open."""
    made = Rate(events, units, interval.estimate, interval.low, interval.high, interval.method)
    if events:
        return made
    zero = zero_bound(units, clusters=clusters)
    return Rate(0, units, 0.0, made.low, made.high, made.method, zero.largest, zero.sentence(unit, cluster))


def ceiling(rates: Sequence[Rate]) -> float:
    """How high an axis must reach for these rates.

    A handful of turns without corruption leaves nearly everything open. Such a bar must not press all others flat, so
    it may leave the frame: the axis reaches a little beyond the bars of what was found.
    """
    known = [rate for rate in rates if rate.rate is not None]
    highest = max((rate.high for rate in known), default=0.0)
    found = max((rate.high for rate in known if rate.events), default=highest)
    return min(highest, _ROOM * found)
