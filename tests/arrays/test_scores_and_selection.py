"""Index scores and top-k against slow, independent references."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from kernels.arrays.scores import index_scores
from kernels.arrays.selection import top_k


def sorted_top_k(row: NDArray[np.float32], k: int) -> list[int]:
    """The rule spelled out: stable sort by falling score keeps lower indices first among equals."""
    best_first = sorted(range(len(row)), key=lambda index: -float(row[index]))
    return sorted(best_first[:k])


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 60)), elements=st.integers(-3, 3)),
    st.integers(1, 70),
)
def test_top_k_is_the_stable_sort_when_ties_abound(scores: NDArray[np.float32], k: int) -> None:
    chosen = top_k(scores, k)
    assert chosen.dtype == np.int64
    assert [list(row) for row in chosen] == [sorted_top_k(row, k) for row in scores]


@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 40)), elements=st.floats(-1e6, 1e6, width=32)),
    st.integers(1, 40),
)
def test_top_k_is_the_stable_sort_of_real_scores(scores: NDArray[np.float32], k: int) -> None:
    assert [list(row) for row in top_k(scores, k)] == [sorted_top_k(row, k) for row in scores]


def test_the_lowest_indices_win_a_tie_at_the_threshold() -> None:
    scores = np.array([[1, 5, 1, 1, 7, 1]], dtype=np.float32)
    assert top_k(scores, 4).tolist() == [[0, 1, 2, 4]]


def test_a_large_selection_agrees_with_numpy_lexsort() -> None:
    rng = np.random.default_rng(11)
    scores = rng.integers(0, 65, (5, 12_000)).astype(np.float32)
    chosen = top_k(scores, 512)
    for row, picks in zip(scores, chosen, strict=True):
        order = np.lexsort((np.arange(len(row)), -row))
        assert np.array_equal(picks, np.sort(order[:512]))


def test_index_scores_are_a_weighted_sum_of_rectified_matches() -> None:
    rng = np.random.default_rng(7)
    queries = rng.normal(size=(3, 4, 16)).astype(np.float32)
    weights = rng.normal(size=(3, 4)).astype(np.float32)
    keys = rng.normal(size=(9, 16)).astype(np.float32)
    matches = np.einsum("qhd,nd->qhn", queries.astype(np.float64), keys.astype(np.float64))
    expected = np.einsum("qh,qhn->qn", weights.astype(np.float64), np.clip(matches, 0, None))
    np.testing.assert_allclose(index_scores(queries, weights, keys), expected, rtol=1e-5, atol=1e-5)


def test_head_weights_may_be_shared_by_all_queries() -> None:
    rng = np.random.default_rng(8)
    queries = rng.normal(size=(2, 3, 8)).astype(np.float32)
    keys = rng.normal(size=(5, 8)).astype(np.float32)
    shared = np.array([1, 0, 2], dtype=np.float32)
    repeated = np.tile(shared, (2, 1))
    assert np.array_equal(index_scores(queries, shared, keys), index_scores(queries, repeated, keys))


def test_index_scores_of_sign_keys_do_not_depend_on_the_order_of_summation() -> None:
    rng = np.random.default_rng(9)
    queries = rng.choice([-1, 1], (2, 4, 128)).astype(np.float32)
    keys = rng.choice([-1, 1], (50, 128)).astype(np.float32)
    weights = np.ones(4, dtype=np.float32)
    shuffle = rng.permutation(128)
    shuffled = index_scores(np.ascontiguousarray(queries[:, ::-1, shuffle]), weights, keys[:, shuffle])
    assert np.array_equal(index_scores(queries, weights, keys), shuffled)
