"""The rate of an arm by resampling whole clusters.

Owns: the cluster bootstrap. Does not own: the mean of equally weighted seeds (`seeds`). Floor 3.
Source: scipy.stats.bootstrap (BCa), over (events, units) pairs; the statistic is the ratio of their sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from results.stats.arm_rate import arm_rate
from results.stats.intervals import LEVEL, Interval

RESAMPLE_COUNT = 9_999


def cluster_bootstrap(
    events: Sequence[int],
    units: Sequence[int],
    *,
    rng: np.random.Generator,
    level: float = LEVEL,
    resamples: int = RESAMPLE_COUNT,
) -> Interval:
    """The rate over all units, with an interval from resampled clusters.

    Assumes: clusters are independent and many enough to stand for those not seen. They seldom are: docs/statistics.md
    has its coverage, which falls far below the nominal one for few clusters or few events; `arm_rate` is for claims.
    Where all clusters have the same rate there is nothing to resample, and the answer is that of `arm_rate`.
    """
    hits, sizes = np.asarray(events, dtype=np.float64), np.asarray(units, dtype=np.float64)
    assert hits.shape == sizes.shape, (hits.shape, sizes.shape)
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    if len(hits) < 2 or np.ptp(hits / sizes) == 0:
        return arm_rate(events, units, level)
    found = stats.bootstrap(
        (hits, sizes),
        _ratio,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        confidence_level=level,
        method="BCa",
        rng=rng,
    )
    low, high = found.confidence_interval
    estimate = float(hits.sum() / sizes.sum())
    return Interval(estimate, float(low), float(high), int(sizes.sum()), level, "BCa bootstrap over clusters")


def _ratio(hits: NDArray[np.float64], sizes: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Args: hits, sizes: [resample, cluster] float64."""
    ratio: NDArray[np.float64] = hits.sum(axis=axis) / sizes.sum(axis=axis)
    return ratio
