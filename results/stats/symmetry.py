"""Two arms over the same seeds, tested at every look: could they be exchanged?

Owns: the e-process that goes with the paired permutation test (`seeds.paired_difference`) and assumes no more than
it: in each pair, had the arms been swapped, the difference would only change its sign. Floor 3.
Source: for a fixed stake s, 1 + tanh(s d) has mean 1 over the two signs of d (Efron's and de la Pena's
self-normalised martingale, exp(s d) / cosh(s d)). A mixture over stakes of both signs is a martingale too, and by
Ville's inequality ever reaches 1 / alpha with a chance of at most alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

_SCALES = np.array([5.0, 20.0, 80.0, 320.0])
"""Per unit of rate. 320 is a sign test for differences above 1 %; 5 weighs large differences more than small ones."""


def pair_evidence(differences: Sequence[float]) -> list[float]:
    """The e-value after each seed, against "the arms could be exchanged"; two-sided. Equal arms leave it at 1.

    Args: differences: first arm minus second, one a seed, in the order in which the seeds were planned.
    """
    stakes = np.concatenate([_SCALES, -_SCALES])
    moved = np.outer(stakes, np.asarray(differences, dtype=np.float64))
    # log(1 + tanh x) = log 2 - log(1 + exp(-2x)): no overflow, and -inf never arises.
    growth = np.cumsum(np.log(2) - np.logaddexp(0.0, -2 * moved), axis=1)
    return [float(value) for value in np.exp(special.logsumexp(growth, axis=0) - np.log(len(stakes)))]


def anytime_p(evidence: Sequence[float]) -> float:
    """The p-value that may be read at any look: 1 over the most evidence so far."""
    return min(1.0, 1 / max(evidence, default=1.0))
