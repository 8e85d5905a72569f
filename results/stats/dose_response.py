"""How corruption rises with a dose: an injected delay, the number of sessions.

Owns: the logistic curve over one or more doses, with errors that allow for seeds which run at every dose. Does not
own: rates at one dose (`arm_rate`). Floor 3.
Source: statsmodels GLM (binomial, logit) with cluster-robust errors, and Student's t with clusters - 1 degrees of
freedom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy import special

from kernels.errors import ConfigError
from results.stats.arm_rate import small_sample_caveat
from results.stats.intervals import LEVEL

CURVE_CLUSTERS_MIN = 3
_CERTAIN = 1e-7
"""A fitted rate this near to 0 or 1 is a curve that runs away: the counts fix no slope."""


class NotFitted(ConfigError):
    """The counts do not determine a curve."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"no dose-response curve can be fitted: {why}")


@dataclass(frozen=True, slots=True)
class DoseTerm:
    """log_odds: change of the log-odds for one more unit of the dose, with its interval; p against no change."""

    name: str
    log_odds: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class DoseResponse:
    """A fitted curve. caveat: what to print beside it where clusters are few."""

    intercept: float
    terms: tuple[DoseTerm, ...]
    cluster_count: int
    caveat: str | None

    def rate_at(self, doses: Mapping[str, float]) -> float:
        """The rate that the curve gives at these doses."""
        return float(special.expit(self.intercept + sum(term.log_odds * doses[term.name] for term in self.terms)))


def dose_response(
    doses: Mapping[str, Sequence[float]],
    events: Sequence[int],
    units: Sequence[int],
    clusters: Sequence[int],
    level: float = LEVEL,
) -> DoseResponse:
    """Fit events out of units to the doses, one row a run; `clusters` names each run's seed.

    Assumes: seeds are independent, and the log-odds are linear in each dose. With few seeds the errors are too small
    (docs/statistics.md says by how much).
    Raises: NotFitted, where nothing varies, or a dose separates "never" from "always".
    """
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    hits, sizes = np.asarray(events, dtype=np.float64), np.asarray(units, dtype=np.float64)
    columns = [np.asarray(values, dtype=np.float64) for values in doses.values()]
    cluster_count = len(set(clusters))
    _check(hits, sizes, dict(zip(doses, columns, strict=True)), cluster_count)
    # Doses of very different size (microseconds, sessions) make a bad fit, so each is scaled to its spread.
    spreads = [float(np.ptp(column)) for column in columns]
    design = np.column_stack(
        [np.ones(len(hits)), *(column / spread for column, spread in zip(columns, spreads, strict=True))]
    )
    model = GLM(np.column_stack([hits, sizes - hits]), design, family=Binomial())
    with catch_warnings():
        # Separation is found below, from what was fitted; statsmodels warns of it once a step.
        simplefilter("ignore", PerfectSeparationWarning)
        simplefilter("ignore", RuntimeWarning)
        fitted = model.fit(cov_type="cluster", cov_kwds={"groups": np.asarray(clusters)}, use_t=True)
    rates = fitted.fittedvalues
    if rates.min() < _CERTAIN or rates.max() > 1 - _CERTAIN or not np.all(np.isfinite(fitted.bse)):
        raise NotFitted("events lie at one end of a dose only, so any curve that is steep enough fits them")
    ends = fitted.conf_int(alpha=1 - level)
    terms = tuple(
        DoseTerm(
            name=name,
            log_odds=float(fitted.params[at] / spread),
            low=float(ends[at][0] / spread),
            high=float(ends[at][1] / spread),
            p=float(fitted.pvalues[at]),
        )
        for at, (name, spread) in enumerate(zip(doses, spreads, strict=True), start=1)
    )
    return DoseResponse(float(fitted.params[0]), terms, cluster_count, small_sample_caveat(cluster_count))


def _check(hits: np.ndarray, sizes: np.ndarray, doses: Mapping[str, np.ndarray], cluster_count: int) -> None:
    assert doses and np.all((hits >= 0) & (hits <= sizes)) and np.all(sizes > 0), "events out of units, one row a run"
    for name, values in doses.items():
        assert len(values) == len(hits), (name, len(values), len(hits))
        if np.ptp(values) == 0:
            raise NotFitted(f"{name} has one value only")
    if hits.sum() in (0, sizes.sum()):
        raise NotFitted("no run has any event" if hits.sum() == 0 else "every unit is an event")
    if cluster_count < CURVE_CLUSTERS_MIN:
        raise NotFitted(f"it takes at least {CURVE_CLUSTERS_MIN} seeds, and there are {cluster_count}")
