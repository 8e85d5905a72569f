"""The difference of two sides, by the right unit.

Owns: which unit that is, and the figures. Pairs of seeds where both sides have two seeds in common; seeds against other
seeds where they have not; sessions where each side is a single run, which assumes that its sessions are independent,
and says so. Does not own: whether the sides may be compared (`comparable`). Floor 3.
Source: permutation tests and Student's and Welch's intervals by scipy; Newcombe, Statistics in Medicine 17 (1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, hypot

import numpy as np
from scipy import stats

from results.comparison.comparable import differing
from results.comparison.sides import Side
from results.report.words import plural
from results.stats.holm import ALPHA
from results.stats.intervals import LEVEL, Interval, wilson
from results.stats.seeds import RESAMPLE_COUNT, PairedDifference, paired_difference
from results.stats.two_arms import boschloo

_RESAMPLING_SEED = 22811
_EXACT_SPLITS_MAX = 20_000
_NO_WIDTH = 1e-9
"""Rates that are equal on paper differ by less than this, for they are quotients of floats."""
_ONE_RUN = (
    "each side is one run, and the sessions of a run share prefixes and loads: the interval and p take them as"
    " independent and claim too much; compare arms over seeds"
)

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Contrast:
    """First minus second. unit: `seed` or `session`; count_first, count_second: units of each side that were used.

    difference, ci95, p: None where they cannot be had; p_holm: after Holm over all contrasts of the comparison.
    smallest_p: the best that so few units can show. is_identical: every outcome has the same digest.
    assumption: what the figures rest on beyond the right unit; None where on nothing more.
    """

    name: str
    first: str
    second: str
    unit: str
    is_paired: bool
    count_first: int
    count_second: int
    rate_first: float | None
    rate_second: float | None
    difference: float | None
    ci95: Bounds | None
    p: float | None
    p_holm: float | None
    smallest_p: float | None
    method: str
    assumption: str | None
    is_identical: bool
    differs_in: dict[str, tuple[object, object]]
    kinds_first: dict[str, int]
    kinds_second: dict[str, int]

    @property
    def is_shown(self) -> bool:
        return self.p_holm is not None and self.p_holm <= ALPHA

    @property
    def can_show(self) -> bool:
        """Whether so few units could have shown a difference at all, or nothing is left to show."""
        return self.is_identical or (self.smallest_p is not None and self.smallest_p <= ALPHA)


def contrast(first: Side, second: Side, name: str) -> Contrast:
    """Compare two sides that may be compared."""
    common = [seed for seed in first.cells if seed in second.cells]
    digests = [(first.cells[seed].digest, second.cells[seed].digest) for seed in common]
    is_identical = set(first.cells) == set(second.cells) and bool(common) and all(a == b for a, b in digests)
    plain = Contrast(
        name=name, first=first.label, second=second.label, unit="seed", is_paired=True, count_first=0, count_second=0,
        rate_first=_pooled(first), rate_second=_pooled(second), difference=None, ci95=None, p=None, p_holm=None,
        smallest_p=None, method="", assumption=None, is_identical=is_identical, differs_in=differing(first, second),
        kinds_first=dict(first.kinds), kinds_second=dict(second.kinds),
    )  # fmt: skip
    if first.sessions is not None and second.sessions is not None:
        return _by_sessions(plain, first, second)
    rates = [(first.cells[seed].rate, second.cells[seed].rate) for seed in common]
    pairs = [(mine, theirs) for mine, theirs in rates if mine is not None and theirs is not None]
    if len(pairs) > 1:
        left_out = len(first.cells) + len(second.cells) - 2 * len(pairs)
        note = f"; without a partner of the same seed, and left out: {plural(left_out, 'run')}" if left_out else ""
        return _of_pairs(plain, pairs, f"paired permutation test over seeds, Student's interval{note}")
    return _of_groups(plain, first, second, common)


def student_bounds(found: PairedDifference) -> Bounds | None:
    """None where all pairs differ by the same: no spread is seen then, and the interval would be a point."""
    low, high = found.interval_t.low, found.interval_t.high
    return (max(-1.0, low), min(1.0, high)) if high - low > _NO_WIDTH else None


def why_no_interval(found: PairedDifference, unit: str) -> str:
    differs = f"every {unit} differs by the same" if found.seeds_higher + found.seeds_lower else f"no {unit} differs"
    return f"{differs}, so no interval can be given"


def _by_sessions(plain: Contrast, first: Side, second: Side) -> Contrast:
    assert first.sessions is not None and second.sessions is not None
    by_session = replace(plain, unit="session", assumption=_ONE_RUN)
    if set(first.cells) == set(second.cells):
        pairs = [
            (float(mine), float(theirs))
            for number, (_, mine) in first.sessions.items()
            if mine is not None and (theirs := second.sessions.get(number, ((), None))[1]) is not None
        ]
        if len(pairs) > 1:
            method = "paired permutation test over sessions of one seed, Student's interval"
            return _of_pairs(by_session, pairs, method)
    (cell,), (other,) = first.cells.values(), second.cells.values()
    counts = (cell.sessions_corrupted, cell.sessions_judged)
    others = (other.sessions_corrupted, other.sessions_judged)
    if not (cell.sessions_judged and other.sessions_judged):
        return replace(by_session, is_paired=False, method="no session could be judged on one side")
    found = boschloo(counts, others)
    return replace(
        by_session,
        is_paired=False,
        count_first=cell.sessions_judged,
        count_second=other.sessions_judged,
        difference=found.difference,
        ci95=_newcombe(wilson(*counts), wilson(*others)),
        p=found.p,
        smallest_p=boschloo((cell.sessions_judged,) * 2, (0, other.sessions_judged)).p,
        method=f"{found.method} over sessions, Newcombe's interval",
    )


def _of_pairs(plain: Contrast, pairs: Sequence[tuple[float, float]], method: str) -> Contrast:
    found = paired_difference([mine for mine, _ in pairs], [theirs for _, theirs in pairs], rng=_rng())
    interval = student_bounds(found)
    return replace(
        plain,
        count_first=len(pairs),
        count_second=len(pairs),
        difference=found.difference,
        ci95=interval,
        p=found.p_permutation,
        smallest_p=max(2.0 ** (1 - len(pairs)), 2 / (RESAMPLE_COUNT + 1)),
        method=method if interval is not None else why_no_interval(found, plain.unit),
    )


def _of_groups(plain: Contrast, first: Side, second: Side, common: Sequence[int]) -> Contrast:
    """Seeds of one side against other seeds of the other; one that is in both would be no independent unit."""
    mine = [cell.rate for seed, cell in first.cells.items() if seed not in common and cell.rate is not None]
    theirs = [cell.rate for seed, cell in second.cells.items() if seed not in common and cell.rate is not None]
    unpaired = replace(plain, is_paired=False, count_first=len(mine), count_second=len(theirs))
    if min(len(mine), len(theirs)) < 2:
        what = f"{len(mine)} and {len(theirs)} seeds of their own, {len(common)} in common: too few to compare"
        return replace(unpaired, method=what)
    splits = comb(len(mine) + len(theirs), len(mine))
    found = stats.permutation_test(
        (mine, theirs),
        _difference_of_means,
        permutation_type="independent",
        n_resamples=np.inf if splits <= _EXACT_SPLITS_MAX else RESAMPLE_COUNT,
        rng=_rng(),
    )
    is_flat = np.ptp(mine) == 0 and np.ptp(theirs) == 0
    interval = None if is_flat else stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval(LEVEL)
    return replace(
        unpaired,
        difference=float(_difference_of_means(mine, theirs)),
        ci95=None if interval is None else (max(-1.0, float(interval.low)), min(1.0, float(interval.high))),
        p=float(found.pvalue),
        smallest_p=min(1.0, 2 / min(splits, RESAMPLE_COUNT + 1)),
        method="permutation test over seeds that are not the same, Welch's interval",
    )


def _newcombe(first: Interval, second: Interval) -> Bounds:
    """The interval of a difference of two rates, from the Wilson interval of each (Newcombe's hybrid score method)."""
    difference = first.estimate - second.estimate
    below = hypot(first.estimate - first.low, second.high - second.estimate)
    above = hypot(first.high - first.estimate, second.estimate - second.low)
    return (difference - below, difference + above)


def _difference_of_means(mine: Sequence[float], theirs: Sequence[float]) -> float:
    return float(np.mean(mine) - np.mean(theirs))


def _pooled(side: Side) -> float | None:
    judged = sum(cell.sessions_judged for cell in side.cells.values())
    return sum(cell.sessions_corrupted for cell in side.cells.values()) / judged if judged else None


def _rng() -> np.random.Generator:
    """The same figures on every machine."""
    return np.random.default_rng(_RESAMPLING_SEED)
