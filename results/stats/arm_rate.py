"""The claim interval of one arm: its rate over sessions that come in seeds, or requests that come in time blocks.

Owns: the interval that a report quotes for an arm, and the sentence that says when clusters are too few for it. Does
not own: the mean of the seeds' rates (`seeds`), resampling (`bootstrap`), validity at every look (`betting`). Floor
3.
Source: Korn and Graubard, Survey Methodology 24 (1998): Clopper-Pearson on the sample size that is left after the
design effect, with Student's quantile in place of the normal one because the effect itself is estimated from few
clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import special

from results.stats.clusters import design_effect
from results.stats.intervals import LEVEL, Interval, clopper_pearson

CLUSTERS_ENOUGH = 10
"""Below this, bootstrap intervals of a nominal 95 % cover as little as 78 % (docs/statistics.md)."""


def arm_rate(events: Sequence[int], units: Sequence[int], level: float = LEVEL) -> Interval:
    """The rate of an arm over all its units, allowing for dependence inside each cluster.

    Assumes: clusters are independent. With no event, or nothing but events, or one cluster, nothing can be seen of the
    dependence; then the exact interval over clusters is given, which holds whatever it is.
    Args:
        events, units: of each cluster. Clusters without units are left out.
    """
    hits, sizes = np.asarray(events, dtype=np.float64), np.asarray(units, dtype=np.float64)
    assert hits.shape == sizes.shape, (hits.shape, sizes.shape)
    hits, sizes = hits[sizes > 0], sizes[sizes > 0]
    count, total, struck = len(sizes), float(sizes.sum()), float(hits.sum())
    estimate = struck / total if total else float("nan")
    if struck in (0, total) or count < 2:
        exact = clopper_pearson(int((hits > 0).sum()), count, level)
        return replace(exact, estimate=estimate, unit_count=int(total), method="Clopper-Pearson over clusters")
    effect = design_effect(hits, sizes)
    upper = 1 - (1 - level) / 2
    fewness = float(special.stdtrit(total - 1, upper) / special.stdtrit(count - 1, upper)) ** 2
    effective = total / effect * fewness
    interval = clopper_pearson(estimate * effective, effective, level)
    method = f"Korn-Graubard over {count} clusters, design effect {effect:.2f}"
    return replace(interval, estimate=estimate, unit_count=int(total), method=method)


def small_sample_caveat(cluster_count: int) -> str | None:
    """What to print under an interval over too few clusters; None where there are enough."""
    if cluster_count >= CLUSTERS_ENOUGH:
        return None
    return (
        f"too few seeds or blocks ({cluster_count}): from fewer than {CLUSTERS_ENOUGH} their spread is poorly known, "
        "so intervals may be too narrow or very wide; run more before you claim a rate"
    )
