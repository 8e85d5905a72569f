"""Statistics where the seed is the unit: the mean rate of an arm, and the difference of two arms over the same seeds.

Owns: t and bootstrap intervals of a mean over seeds; the paired permutation test and Wilcoxon's. Sessions of one
simulated run share prefixes and merged loads; whole runs with different seeds share nothing, so they are the
independent units. Floor 3. Source: scipy.stats (`permutation_test`, `bootstrap`, `wilcoxon`, `t`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from results.stats.intervals import LEVEL, Interval, clopper_pearson

EXACT_SEEDS_MAX = 13
"""Up to 2 ** 13 sign patterns are counted one by one; more seeds are sampled."""
RESAMPLE_COUNT = 9_999

Rates = NDArray[np.float64]


class MeanMethod(StrEnum):
    T = "t"
    BOOTSTRAP = "bootstrap"


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """First arm minus second arm, over the same seeds. p-values are two-sided."""

    seed_count: int
    difference: float
    interval_t: Interval
    interval_bootstrap: Interval
    p_permutation: float
    p_wilcoxon: float
    seeds_higher: int
    seeds_lower: int


def mean_rate(
    rates: Sequence[float],
    *,
    rng: np.random.Generator,
    method: MeanMethod = MeanMethod.T,
    level: float = LEVEL,
    resamples: int = RESAMPLE_COUNT,
) -> Interval:
    """The mean of the seeds' rates, each in [0, 1].

    Assumes: seeds are independent and of equal weight. `t` further assumes that their mean is about normal, which
    20 seeds give for rates that are not nearly all 0; `bootstrap` (BCa) does not, and is too narrow for few seeds.
    Where every seed has the same rate 0 (or 1), neither can see any spread: then the exact interval of the share
    of seeds that show anything is given, which bounds the mean rate too.
    """
    values = _rates(rates)
    assert np.all((values >= 0) & (values <= 1)), "rates lie in [0, 1]"
    if np.all(values == 0) or np.all(values == 1):
        exact = clopper_pearson(int(values.sum()), len(values), level)
        return Interval(exact.estimate, exact.low, exact.high, len(values), level, "Clopper-Pearson over seeds")
    interval = _mean_t(values, level) if method is MeanMethod.T else _mean_bootstrap(values, level, rng, resamples)
    low, high = max(0.0, interval.low), min(1.0, interval.high)
    return Interval(interval.estimate, low, high, len(values), level, interval.method)


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    *,
    rng: np.random.Generator,
    level: float = LEVEL,
    resamples: int = RESAMPLE_COUNT,
) -> PairedDifference:
    """Compare two arms that ran on the same seeds, in the same order.

    Assumes: pairs are independent. Under no difference, the permutation test assumes only that the two arms of a
    pair could be exchanged; Wilcoxon's, that the differences are symmetric. Both intervals are of the mean
    difference: `t` assumes that it is about normal, the bootstrap (BCa) does not. Equal arms give p = 1.
    """
    differences = _rates(first) - _rates(second)
    assert len(first) == len(second), (len(first), len(second))
    return PairedDifference(
        seed_count=len(differences),
        difference=float(differences.mean()),
        interval_t=_mean_t(differences, level),
        interval_bootstrap=_mean_bootstrap(differences, level, rng, resamples),
        p_permutation=_permutation(differences, rng, resamples),
        p_wilcoxon=float(stats.wilcoxon(differences).pvalue) if np.any(differences) else 1.0,
        seeds_higher=int((differences > 0).sum()),
        seeds_lower=int((differences < 0).sum()),
    )


def _rates(rates: Sequence[float]) -> Rates:
    values = np.asarray(rates, dtype=np.float64)
    assert values.ndim == 1 and len(values) >= 2, "at least two seeds"
    return values


def _mean_t(values: Rates, level: float) -> Interval:
    count = len(values)
    half = float(stats.t.ppf(1 - (1 - level) / 2, count - 1) * values.std(ddof=1) / np.sqrt(count))
    mean = float(values.mean())
    return Interval(mean, mean - half, mean + half, count, level, "t over seeds")


def _mean_bootstrap(values: Rates, level: float, rng: np.random.Generator, resamples: int) -> Interval:
    mean = float(values.mean())
    if np.ptp(values) == 0:
        return Interval(mean, mean, mean, len(values), level, "all seeds equal: no spread to resample")
    result = stats.bootstrap(
        (values,), np.mean, confidence_level=level, n_resamples=resamples, method="BCa", rng=rng, vectorized=True
    )
    low, high = result.confidence_interval
    return Interval(mean, float(low), float(high), len(values), level, "BCa bootstrap over seeds")


def _permutation(differences: Rates, rng: np.random.Generator, resamples: int) -> float:
    """Two-sided p of the mean difference, by flipping the sign of each pair."""
    if not np.any(differences):
        return 1.0
    is_exact = len(differences) <= EXACT_SEEDS_MAX
    result = stats.permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        n_resamples=np.inf if is_exact else resamples,
        vectorized=True,
        rng=rng,
    )
    return float(result.pvalue)
