"""The rate of units that come in clusters: turns inside sessions.

Owns: the design effect, and a Wilson interval on the sample size that is left after it. Turns of one session share
their history, so an interval over turns that ignores it is far too narrow. Does not own: dependence *between*
clusters (sessions of one run share prefixes and merged loads); there the seed is the unit (`seeds`). Floor 3.
Source: Rao and Scott, Biometrics 48 (1992): ratio estimator and its linearised variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from results.stats.intervals import LEVEL, Interval, clopper_pearson, wilson


def clustered_rate(events: Sequence[int], units: Sequence[int], level: float = LEVEL) -> Interval:
    """The rate over all units, with an interval that allows for dependence inside a cluster.

    Assumes: clusters are independent. With no event, or nothing but events, the data cannot show any dependence,
    so the exact interval over clusters is given: it holds however dependent the units of one cluster are.
    Args:
        events, units: per cluster, how many of its units were events, and how many it has. Empty clusters are left out.
    """
    hits, sizes = np.asarray(events, dtype=np.float64), np.asarray(units, dtype=np.float64)
    assert hits.shape == sizes.shape, (hits.shape, sizes.shape)
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    cluster_count, unit_count, event_count = len(sizes), int(sizes.sum()), int(hits.sum())
    if event_count in (0, unit_count) or cluster_count < 2:
        struck = int((hits > 0).sum())
        exact = clopper_pearson(struck, cluster_count, level)
        rate = event_count / unit_count if unit_count else float("nan")
        return replace(exact, estimate=rate, unit_count=unit_count, method="Clopper-Pearson over clusters")
    effect = design_effect(hits, sizes)
    interval = wilson(event_count / effect, unit_count / effect, level)
    method = f"Wilson with design effect {effect:.2f}"
    return replace(interval, estimate=event_count / unit_count, unit_count=unit_count, method=method)


def design_effect(hits: np.ndarray, sizes: np.ndarray) -> float:
    """Variance of the rate over the clusters, relative to that of as many independent units; at least 1.

    Args:
        hits: [cluster] float64, events. sizes: [cluster] float64, units, all positive.
    """
    total, count = sizes.sum(), len(sizes)
    rate = hits.sum() / total
    residuals = hits - rate * sizes
    variance = count / (count - 1) * float(residuals @ residuals) / total**2
    return max(1.0, float(variance * total / (rate * (1 - rate))))
