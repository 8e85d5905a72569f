"""Curves: the dose-response slope, and times to the first event.

Owns: the scenes with a dose or with a time. Does not own: scenes of plain rates (`coverage_scenes`).
"""

from __future__ import annotations

import numpy as np
from scipy import special, stats

from benchmarks.coverage_scenes import SESSIONS, Cell, Table, effect_of, share
from results.stats.dose_response import NotFitted, dose_response
from results.stats.survival import kaplan_meier, log_rank

_DELAYS_US = (0.0, 50.0, 100.0, 200.0, 500.0)
_INTERCEPT, _SLOPE = -2.5, 0.008
_ALPHA = 0.05


def slopes(rng: np.random.Generator, repeats: int) -> Table:
    """Coverage of the slope's 95 % interval, and false alarms where the delay does nothing.

    A seed that is prone to corruption is so at every delay, as when the same seeds run at each: its chances are the
    same quantile of the beta law at each delay, whose means lie on the logistic curve exactly.
    """
    rows: list[tuple[Cell, ...]] = []
    for seeds in (5, 10, 20):
        for correlation in (0.0, 0.02, 0.1):
            held = alarms = fitted = 0
            for _ in range(repeats):
                for slope in (_SLOPE, 0.0):
                    hits = _dose_counts(rng, slope, correlation, seeds)
                    delays, clusters = np.tile(_DELAYS_US, seeds).tolist(), np.repeat(np.arange(seeds), 5).tolist()
                    try:
                        term = dose_response({"delay_us": delays}, hits, [SESSIONS] * len(hits), clusters).terms[0]
                    except NotFitted:
                        continue
                    fitted += 1
                    held += slope > 0 and term.low <= slope <= term.high
                    alarms += slope == 0 and term.p <= _ALPHA
            cells = (share(held, repeats), share(alarms, repeats), share(2 * repeats - fitted, 2 * repeats))
            rows.append((seeds, f"{effect_of(correlation):.1f}", *cells))
    return Table("slopes", repeats, ("seeds", "design effect", "slope covered", "false alarms", "no fit"), tuple(rows))


def _dose_counts(rng: np.random.Generator, slope: float, correlation: float, seeds: int) -> list[int]:
    """Events of each run, seed by seed, delay by delay."""
    rates = special.expit(_INTERCEPT + slope * np.array(_DELAYS_US))
    if correlation == 0:
        return [int(count) for count in rng.binomial(SESSIONS, np.tile(rates, seeds))]
    strength = 1 / correlation - 1
    quantiles = rng.random((seeds, 1))
    found = rng.binomial(SESSIONS, stats.beta.ppf(quantiles, rates * strength, (1 - rates) * strength))
    return [int(count) for count in found.ravel()]


def survival_errors(rng: np.random.Generator, repeats: int) -> Table:
    """Times to the first corruption, exponential with mean 1, cut off at a uniform time: coverage at the time 0.5."""
    at, truth = 0.5, float(np.exp(-0.5))
    rows: list[tuple[Cell, ...]] = []
    for units in (10, 20, 60):
        held = alarms = 0
        for _ in range(repeats):
            groups = [_cut(rng, units) for _ in range(2)]
            curve = kaplan_meier(*groups[0])
            last = max((place for place, time in enumerate(curve.times) if time <= at), default=None)
            held += last is None or curve.low[last] <= truth <= curve.high[last]
            alarms += log_rank(*groups).p <= _ALPHA
        rows.append((units, share(held, repeats), share(alarms, repeats)))
    return Table("survival", repeats, ("units a group", "Kaplan-Meier covered", "log-rank false alarms"), tuple(rows))


def _cut(rng: np.random.Generator, units: int) -> tuple[list[float], list[bool]]:
    times, ends = rng.exponential(1.0, units), rng.uniform(0.3, 2.0, units)
    return np.minimum(times, ends).tolist(), (times <= ends).tolist()
