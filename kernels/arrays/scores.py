"""Index scores: how well each cached key matches each query, before the top-k.

Owns: the score. Does not own: the selection (`selection.py`), the keys' number format (`bfloat16.py`,
`float8.py`). Floor 0.
Source: DeepSeek-V3.2 report, lightning indexer: score = sum over heads of weight times ReLU(query . key).
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.namespace import namespace


def index_scores(
    queries: NDArray[np.float32], head_weights: NDArray[np.float32], keys: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Score every key for every query.

    Args:
        queries: [query_count, head_count, dim] float32.
        head_weights: [query_count, head_count] or [head_count] float32.
        keys: [key_count, dim] float32; all heads share one key.
    Returns: [query_count, key_count] float32.
    """
    assert (queries.ndim, keys.ndim) == (3, 2), (queries.shape, keys.shape)
    assert queries.shape[2] == keys.shape[1], (queries.shape, keys.shape)
    query_count, head_count, _ = queries.shape
    assert head_weights.shape in ((query_count, head_count), (head_count,)), head_weights.shape
    xp = namespace(queries)
    weights = xp.broadcast_to(head_weights, (query_count, head_count))
    scores = xp.zeros((query_count, keys.shape[0]), dtype=xp.float32)
    # One head at a time: the [query, head, key] array of the whole product is never held.
    for head in range(head_count):
        matches = queries[:, head] @ keys.T
        xp.maximum(matches, xp.float32(0), out=matches)
        scores += weights[:, head, None] * matches
    return cast(NDArray[np.float32], scores)
