"""Attention on the grid: close to the real softmax, and the same bits in every order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from kernels.arrays.attention import WEIGHT_BITS, attend, grid_softmax, keep_latest_best
from kernels.arrays.grid import to_grid

Floats = NDArray[np.float32]


def real_softmax(scores: Floats) -> NDArray[np.float64]:
    exponentials = np.exp(scores.astype(np.float64) - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 50)), elements=st.floats(-40, 40, width=32)))
def test_weights_lie_on_the_grid_near_the_real_softmax(scores: Floats) -> None:
    weights = grid_softmax(scores)
    assert np.array_equal(weights * 1024, np.rint(weights * 1024))
    slot_count = scores.shape[1]
    np.testing.assert_allclose(weights, real_softmax(scores), atol=2.0**-WEIGHT_BITS * (1 + slot_count / 2))


@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_the_result_does_not_depend_on_the_order_of_slots(seed: int, slot_count: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(-8, 9, (2, slot_count)).astype(np.float32) * np.float32(0.5)
    values = rng.choice([-1.0, -0.25, 0.75, 1.0], (slot_count, 8)).astype(np.float32)
    order = rng.permutation(slot_count)
    assert np.array_equal(attend(scores, values), attend(scores[:, order], values[order]))


def test_large_scores_do_not_overflow() -> None:
    scores = np.array([[3.0e38, -3.0e38, 3.0e38]], dtype=np.float32)
    with np.errstate(over="ignore"):
        weights = grid_softmax(scores)
    assert weights.tolist() == [[0.5, 0.0, 0.5]]


def test_a_masked_slot_weighs_nothing_and_a_row_of_masks_is_zero() -> None:
    scores = np.array([[0, -np.inf, 0], [-np.inf, -np.inf, -np.inf]], dtype=np.float32)
    assert grid_softmax(scores).tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]


def test_only_the_selected_slots_count() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(2, 20)).astype(np.float32)
    values = rng.choice([-1.0, 1.0], (20, 4)).astype(np.float32)
    slots = np.array([[1, 5, 6], [0, 2, 19]], dtype=np.int64)
    masked = np.full_like(scores, -np.inf)
    np.put_along_axis(masked, slots, np.take_along_axis(scores, slots, axis=1), axis=1)
    assert np.array_equal(attend(scores, values, slots), attend(masked, values))


def test_of_equal_best_slots_the_latest_is_kept() -> None:
    scores = np.array([[2, 7, 1, 7, 2], [3, 0, 0, 0, 0]], dtype=np.float32)
    expected = np.array([[2, -np.inf, 1, 7, 2], [3, 0, 0, 0, 0]], dtype=np.float32)
    assert np.array_equal(keep_latest_best(scores), expected)


def test_rounding_to_the_grid_is_to_nearest_even() -> None:
    values = np.array([0.125, 0.375, -0.3, 1e30], dtype=np.float32)
    assert to_grid(values, 2).tolist() == [0.0, 0.5, -0.25, float(np.float32(1e30))]


def test_more_slots_than_the_grid_can_add_exactly_are_refused() -> None:
    with pytest.raises(AssertionError):
        grid_softmax(np.zeros((1, 2**14 + 1), dtype=np.float32))
