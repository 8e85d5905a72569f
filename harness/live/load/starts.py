"""When sessions begin, as seconds since the load did: gaps by chance, and a rate that may change in time.

Owns: the drawing. Does not own: which process was asked for (`harness/live/arrivals.py`). Pure. Floor 5.
Source: facts/loadgen.md section 4 (rows 5, 6 and 10). Arrivals of a changing rate are those of a constant one on a
clock that runs as fast as the rate: the change of time for point processes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def unit_starts(count: int, burstiness: float | None, rng: np.random.Generator, *, is_whole: bool) -> Floats:
    """`count` arrivals at a mean rate of one, from zero on: nothing is learned by waiting for the first.

    Args:
        burstiness: shape of the gaps' gamma distribution; 1 makes them exponential, None makes them equal.
        is_whole: let them fill a span of exactly `count`, as a given duration wants it. Exponential gaps are then those
            of a Poisson process of which the number of arrivals is known.
    """
    gaps = np.ones(count) if burstiness is None else rng.gamma(burstiness, 1 / burstiness, count)
    if is_whole:
        gaps *= count / gaps.sum()
    return np.concatenate(([0.0], np.cumsum(gaps[:-1])))


def on_ramp(fractions: Floats, first: float, last: float, span_s: float) -> Floats:
    """When these fractions of all arrivals have come, at a rate that goes from `first` to `last` in a line.

    The one time t in the span at which first * t + (last - first) / span_s * t * t / 2 of them have.
    """
    come = fractions * (first + last) / 2 * span_s
    slope = (last - first) / span_s
    # In this form of the root nothing cancels, and a slope of zero needs no case of its own.
    root = first + np.sqrt(np.maximum(first * first + 2 * slope * come, 0.0))
    return np.divide(2 * come, root, out=np.zeros_like(come), where=root > 0)
