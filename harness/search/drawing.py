"""Statistics over seeds as marks of a figure.

Owns: what stands for a mean without an interval. Does not own: drawing (`results.report`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.search.statistics import SeedStatistics
from results.report.dots import Dot


def bounds(statistics: SeedStatistics) -> tuple[float, float]:
    """The interval, or the mean twice where one seed has none."""
    assert statistics.rate is not None, "a mark needs a rate"
    if statistics.low is None or statistics.high is None:
        return statistics.rate, statistics.rate
    return statistics.low, statistics.high


def dot_of(statistics: SeedStatistics, behind: Sequence[float] = ()) -> Dot | None:
    """The mark of a row; None where no seed could be judged."""
    if statistics.rate is None:
        return None
    return Dot(statistics.rate, *bounds(statistics), behind=behind)
