"""Top-k selection with a fixed tie rule.

Owns: which keys are selected. Floor 0.

A discrete selection is only reproducible when ties have a rule. Ours: higher scores first; among the scores that
are equal at the threshold the lowest index is chosen first; the result is sorted by index.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.namespace import namespace


def top_k(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Indices of the k best scores of each row.

    The row is partitioned, not sorted: the threshold is the k-th best score, everything above it is in, and only
    the scores that equal it are ranked.

    Args:
        scores: [query_count, key_count], no NaN.
        k: at least 1; capped at key_count.
    Returns: [query_count, min(k, key_count)] int64, ascending in each row.
    """
    assert scores.ndim == 2, scores.shape
    assert k >= 1, k
    xp = namespace(scores)
    query_count, key_count = scores.shape
    if k >= key_count:
        everything = xp.broadcast_to(xp.arange(key_count, dtype=xp.int64), (query_count, key_count))
        return cast(NDArray[np.int64], everything)
    kth = key_count - k
    threshold = xp.partition(scores, kth, axis=1)[:, kth]
    # Flat places: finding these is several times as fast as finding row and column of each.
    places = xp.flatnonzero(scores >= threshold[:, None])
    rows = places // key_count
    is_tie = scores.ravel()[places] == threshold[rows]
    # `tie_rank` counts the ties of a row from 1, in index order; `seats` is what the better scores left over.
    tie_count = xp.bincount(rows[is_tie], minlength=query_count)
    tie_rank = xp.cumsum(is_tie) - (xp.cumsum(tie_count) - tie_count)[rows]
    seats = k - (xp.bincount(rows, minlength=query_count) - tie_count)
    kept = ~is_tie | (tie_rank <= seats[rows])
    return cast(NDArray[np.int64], (places[kept] % key_count).reshape(query_count, k))
