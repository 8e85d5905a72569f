"""What no event at all leaves open: the largest rate that a zero does not rule out, by what is known of dependence.

Owns: the three bounds and the sentence that goes with every zero that the tool prints. Does not own: rates with
events (`arm_rate`), how much to run for a bound (`planner`). Floor 3.
Source: the exact binomial tail for independent units. For clusters of m units with a design effect D, the
second-moment inequality P(X > 0) >= E[X]^2 / E[X^2] with E[X] = mp and Var X = D m p (1 - p), so that k clusters are
all empty with a chance of at most (1 + mp / (D (1 - p))) ** -k, whatever the shape of the dependence. D = m is total
dependence, and gives back the exact bound over clusters; m = D = 1 the exact bound over units.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, expm1, floor, log, log10

from results.stats.intervals import LEVEL, upper_bound_at_zero


@dataclass(frozen=True, slots=True)
class ZeroBound:
    """The largest rates that `unit_count` units without an event leave open, one-sided at `level`.

    independent: if no unit depends on another. by_effect: given the design effect. by_cluster: however much the units
    of a cluster depend on each other. None where clusters or design effect are not known.
    """

    unit_count: int
    cluster_count: int | None
    design_effect: float | None
    level: float
    independent: float
    by_effect: float | None
    by_cluster: float | None

    @property
    def largest(self) -> float:
        """The bound to claim: the one that assumes no more than is known."""
        if self.by_effect is not None:
            return self.by_effect
        return self.independent if self.by_cluster is None else self.by_cluster

    def sentence(self, unit: str = "session", cluster: str = "seed") -> str:
        """One line for screens and reports, to stand beside every zero."""
        if self.unit_count == 0:
            return f"0 of 0 {unit}s rule nothing out"
        text = f"0 of {self.unit_count:,} {unit}s leave rates up to {bound_percent(self.independent)} open if {unit}s"
        text += f" are independent ({100 * self.level:g} % one-sided)"
        if self.by_effect is not None:
            text += f", up to {bound_percent(self.by_effect)} with a design effect of {self.design_effect:.3g}"
        if self.by_cluster is not None:
            text += f", up to {bound_percent(self.by_cluster)} however much the {unit}s of one {cluster} hang together"
        return text


def zero_bound(
    units: int,
    *,
    clusters: int | None = None,
    design_effect: float | None = None,
    level: float = LEVEL,
) -> ZeroBound:
    """What `units` units without an event leave open.

    Assumes: clusters (seeds, time blocks) are independent and of about equal size.
    Args:
        clusters: how many seeds or time blocks the units come from; None leaves dependence unsaid.
        design_effect: variance of the rate relative to independent units, from an arm that does have events.
    """
    assert units >= 0 and 0 < level < 1, (units, level)
    assert clusters is None or 0 <= clusters <= units, (clusters, units)
    assert design_effect is None or (clusters is not None and design_effect >= 1), (clusters, design_effect)
    by_effect = by_cluster = None
    if clusters is not None:
        by_cluster = upper_bound_at_zero(clusters, level)
        if design_effect is not None:
            by_effect = min(by_cluster, _open_rate(units, clusters, design_effect, level))
    return ZeroBound(units, clusters, design_effect, level, upper_bound_at_zero(units, level), by_effect, by_cluster)


def all_empty_chance(rate: float, clusters: float, cluster_size: float, design_effect: float) -> float:
    """At most this is the chance that every cluster is without an event (see the module's source)."""
    return float((1 + cluster_size * rate / (design_effect * (1 - rate))) ** -clusters)


def bound_percent(rate: float) -> str:
    """A bound with two significant figures, rounded up: rounding it down would claim more than was shown."""
    if rate <= 0:
        return "0 %"
    digits = 1 - floor(log10(100 * rate))
    # What a float adds to a round number is not a reason to round up.
    return f"{ceil(round(100 * rate * 10.0**digits, 6)) / 10.0**digits:.3g} %"


def _open_rate(units: int, clusters: int, design_effect: float, level: float) -> float:
    """The rate at which `all_empty_chance` is 1 - level, by solving it for the odds."""
    if clusters == 0:
        return 1.0
    size = units / clusters
    odds = design_effect / size * expm1(-log(1 - level) / clusters)
    return odds / (1 + odds)
