"""Coverage of intervals of one rate, and what a zero claims wrongly.

Owns: which intervals are compared, on which scenes. Does not own: the scenes (`coverage_scenes`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.coverage_scenes import CORRELATIONS, RATES, SESSIONS, Cell, Table, draw, effect_of, scene_cells, share
from results.stats.arm_rate import arm_rate
from results.stats.bootstrap import cluster_bootstrap
from results.stats.clusters import clustered_rate
from results.stats.intervals import Interval, clopper_pearson
from results.stats.seeds import mean_rate
from results.stats.zero import zero_bound

SEED_COUNTS = (5, 10, 20)
_RESAMPLES = 499
_ZERO_RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def interval_coverage(rng: np.random.Generator, repeats: int) -> Table:
    """How often each nominal 95 % interval holds the true rate."""
    methods: dict[str, Callable[[list[int], list[int]], Interval]] = {
        "sessions as units": lambda hits, units: clopper_pearson(sum(hits), sum(units)),
        "clustered_rate": clustered_rate,
        "arm_rate": arm_rate,
        "t over seeds": lambda hits, _: mean_rate([hit / SESSIONS for hit in hits], rng=rng),
        "cluster bootstrap": lambda hits, units: cluster_bootstrap(hits, units, rng=rng, resamples=_RESAMPLES),
    }
    rows: list[tuple[Cell, ...]] = []
    for seeds in SEED_COUNTS:
        units = [SESSIONS] * seeds
        for rate in RATES:
            for correlation in CORRELATIONS:
                held = dict.fromkeys(methods, 0)
                width = 0.0
                for hits in draw(rng, rate, correlation, seeds, repeats).tolist():
                    for name, method in methods.items():
                        found = method(hits, units)
                        held[name] += found.low <= rate <= found.high
                        width += (found.high - found.low) if name == "arm_rate" else 0.0
                cells = (share(count, repeats) for count in held.values())
                points = f"{100 * width / repeats:.1f}"
                rows.append((seeds, *scene_cells(rate, correlation), *cells, points))
    return Table(
        "intervals", repeats, ("seeds", "rate", "design effect", *methods, "width of arm_rate (points)"), tuple(rows)
    )


def zero_claims(rng: np.random.Generator, repeats: int) -> Table:
    """How often a run without any event claims a bound below the true rate; the worst of several rates."""
    rows: list[tuple[Cell, ...]] = []
    for seeds in SEED_COUNTS:
        for correlation in CORRELATIONS:
            bound = zero_bound(SESSIONS * seeds, clusters=seeds, design_effect=effect_of(correlation))
            assert bound.by_effect is not None
            assert bound.by_cluster is not None
            bounds = (bound.independent, bound.by_effect, bound.by_cluster)
            # Just above the bound is where a false claim is likeliest.
            cells: list[Cell] = []
            for claimed in bounds:
                worst = max(
                    int((draw(rng, rate, correlation, seeds, repeats).sum(axis=1) == 0).sum())
                    for rate in {claimed * 1.0001, *(rate for rate in _ZERO_RATES if rate > claimed)}
                )
                cells += [f"{100 * claimed:.2g} %", share(worst, repeats)]
            rows.append((seeds, f"{effect_of(correlation):.1f}", *cells))
    names = ("independent", "by effect", "by cluster")
    return Table(
        "zero",
        repeats,
        ("seeds", "design effect", *(text for name in names for text in (f"bound {name}", "wrong"))),
        tuple(rows),
    )
