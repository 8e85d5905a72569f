"""Attention over selected slots, with weights on a binary grid.

Owns: softmax and the weighted sum. Does not own: scores, selection. Floor 0.

Why the result does not depend on the order of summation (`grid.py` has the general argument): the exponentials are
rounded to multiples of 2^-g, so their sum is exact while slot_count <= 2^(24 - g); IEEE division is correctly
rounded everywhere; the quotients are rounded to the same grid; and the weighted sum of values that are multiples of
2^-v, at most 1 in magnitude, is exact while g + v + 1 <= 24 (the weights add up to at most 2, because rounding to the
grid at most doubles a weight).
The only inexact step is exp itself. It is taken in float64, so two libraries can only disagree about a weight whose
exponential lies within some 2^-52 of a rounding boundary of a grid that is 2^39 times as wide or wider.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.grid import MANTISSA_BITS, to_grid
from kernels.arrays.namespace import namespace

WEIGHT_BITS = 10


def grid_softmax(scores: NDArray[np.float32], grid_bits: int = WEIGHT_BITS) -> NDArray[np.float32]:
    """Softmax along the last axis, rounded to multiples of 2^-grid_bits.

    A score of minus infinity gets weight 0; a row of nothing else gets all zeros.

    Args:
        scores: [..., slot_count] float32, no NaN.
    Returns: same shape, float32; a row adds up to 1 within slot_count * 2^-(grid_bits + 1).
    """
    assert scores.shape[-1] <= 2 ** (MANTISSA_BITS - grid_bits), (scores.shape, grid_bits)
    xp = namespace(scores)
    peak = scores.max(axis=-1, keepdims=True)
    peak = xp.where(xp.isneginf(peak), xp.float32(0), peak)
    exponentials = to_grid(xp.exp(scores.astype(xp.float64) - peak), grid_bits).astype(xp.float32)
    total = exponentials.sum(axis=-1, keepdims=True)
    return to_grid(exponentials / xp.maximum(total, xp.float32(2.0**-grid_bits)), grid_bits)


def keep_latest_best(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Set every best score of a row but the last one to minus infinity.

    Integer scores tie far more often than real ones. As in `top_k`, ties get a rule instead of an average: of
    equally good slots the latest counts.

    Args:
        scores: [query_count, slot_count] float32, no NaN.
    Returns: same shape, float32.
    """
    xp = namespace(scores)
    slot_count = scores.shape[1]
    is_best = scores == scores.max(axis=1, keepdims=True)
    latest = slot_count - 1 - is_best[:, ::-1].argmax(axis=1)
    is_outdone = is_best & (xp.arange(slot_count) != latest[:, None])
    return cast(NDArray[np.float32], xp.where(is_outdone, xp.float32(-np.inf), scores))


def attend(
    scores: NDArray[np.float32],
    values: NDArray[np.float32],
    slots: NDArray[np.int64] | None = None,
    grid_bits: int = WEIGHT_BITS,
) -> NDArray[np.float32]:
    """Weighted sum of the values of the selected slots.

    Args:
        scores: [query_count, slot_count] float32.
        values: [slot_count, dim] float32.
        slots: [query_count, selected_count] int64, the slots each query may see; None means all of them.
    Returns: [query_count, dim] float32.
    """
    assert (scores.ndim, values.ndim) == (2, 2), (scores.shape, values.shape)
    assert scores.shape[1] == values.shape[0], (scores.shape, values.shape)
    if slots is None:
        return grid_softmax(scores, grid_bits) @ values
    xp = namespace(scores)
    weights = grid_softmax(xp.take_along_axis(scores, slots, axis=1), grid_bits)
    return cast(NDArray[np.float32], xp.matmul(weights[:, None, :], values[slots])[:, 0])
