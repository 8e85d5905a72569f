"""Log-probabilities of what the model said: the softmax of the very logits that chose each token.

Owns: the temperature of that softmax, and the best rivals of a token. Does not own: the logits (`recall.py`).
Floor 2c. Source: ours.

The recall model is constructed, so its logits have a scale of our making: n layers that agree give n times one layer's
logits. They are divided by LOGITS_PER_NAT for each indexed layer. With that a token that all layers recall has a
probability of 0.98 and more and leads by 8 nats and more, as a confident model's does; layers that disagree because
some of them read stale pages add up to less, and their token shows it. Logits are exact, so equal bytes give equal
doubles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kernels.engine.recall.model import RecallModel

LOGITS_PER_NAT: Final = 4.0


@dataclass(frozen=True, slots=True)
class TokenScores:
    """One token and its log-probability. best: the best tokens of its place with theirs, the most probable first."""

    token: int
    logprob: float
    best: tuple[tuple[int, float], ...]


def scores_of(model: RecallModel, logits: NDArray[np.float32], count: int) -> list[TokenScores]:
    """What greedy decoding takes from each row, with its `count` best tokens; the lowest id first on ties.

    Args: logits: [n, vocabulary].
    """
    scale = 1.0 / (LOGITS_PER_NAT * model.shape.indexed_layers)
    return [_scores(row, scale, count) for row in logits]


def _scores(logits: NDArray[np.float32], scale: float, count: int) -> TokenScores:
    nats = logits.astype(np.float64) * scale
    highest = float(nats.max())
    total = highest + float(np.log(np.exp(nats - highest).sum()))
    token = int(logits.argmax())
    best: tuple[tuple[int, float], ...] = ()
    if count > 0:
        # All that tie with the last one that is wanted are looked at, so that which of them is told is no accident.
        least = np.partition(logits, len(logits) - count)[len(logits) - count]
        candidates = np.flatnonzero(logits >= least)
        ordered = candidates[np.argsort(-logits[candidates], kind="stable")][:count]
        best = tuple((int(one), float(nats[one]) - total) for one in ordered)
    return TokenScores(token, float(nats[token]) - total, best)
