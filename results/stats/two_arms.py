"""Two arms of independent units: is one rate higher than the other?

Owns: Boschloo's test behind named arguments, so that nobody has to know which axis of a table is the group. Does not
own: arms over seeds (`seeds.paired_difference`), because sessions of one run are not independent. Floor 3.
Source: scipy.stats.boschloo_exact, whose *columns* are the two samples; Boschloo, Statistica Neerlandica 24 (1970).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from scipy import stats

BOSCHLOO_UNITS_MAX = 400
"""Over both arms. Beyond, it takes a second and more and differs little from Fisher's test, which is given instead."""

Counts = tuple[int, int]


class Alternative(StrEnum):
    TWO_SIDED = "two-sided"
    FIRST_HIGHER = "greater"
    FIRST_LOWER = "less"


@dataclass(frozen=True, slots=True)
class TwoArmTest:
    """difference: rate of the first arm minus that of the second."""

    difference: float
    p: float
    method: str


def boschloo(first: Counts, second: Counts, alternative: Alternative = Alternative.TWO_SIDED) -> TwoArmTest:
    """Compare two arms, each given as (events, units).

    Assumes: independent units with one rate an arm. False alarms stay at or below the level for every rate. Arms
    without any event, or with nothing else, cannot differ: p = 1.
    """
    for events, units in (first, second):
        assert 0 <= events <= units and units > 0, (first, second)
    events, units = first[0] + second[0], first[1] + second[1]
    difference = first[0] / first[1] - second[0] / second[1]
    if events in (0, units):
        return TwoArmTest(difference, 1.0, "no event or nothing else in either arm")
    table = [[first[0], second[0]], [first[1] - first[0], second[1] - second[0]]]
    if units > BOSCHLOO_UNITS_MAX:
        p = float(stats.fisher_exact(table, alternative=alternative.value).pvalue)
        return TwoArmTest(difference, p, "Fisher's exact test")
    return TwoArmTest(difference, float(stats.boschloo_exact(table, alternative=alternative.value).pvalue), "Boschloo")
