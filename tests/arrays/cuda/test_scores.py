"""Index scores on the device against float64, over fresh random inputs, poisoned outputs and odd sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels.arrays.bfloat16 import decode_bf16, encode_bf16
from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.scores import DIM, HEADS, PAGE_BYTES, PAGE_ROWS, IndexK, index_scores
from kernels.arrays.float8 import decode_fp8, encode_fp8

pytestmark = pytest.mark.gpu

POISON = 12345.0
# Products are exact in float32 and 128 of them are added; Hopper's fp8 units keep about 13 bits below the largest of
# them (measured by others; the bound here is relative to the sum of magnitudes, so it holds whatever cancels).
BOUND = {"bf16": 2.0**-18, "fp8": 2.0**-11}


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels()


def stored(values: np.ndarray[Any, Any], index_k: IndexK) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Bytes [..., n] and, for fp8, one scale a row; for bf16 ones."""
    if index_k == "bf16":
        return encode_bf16(values), np.ones(values.shape[:-1], np.float32)
    codes, scales = encode_fp8(values)
    return codes, scales[..., 0]


def restored(codes: np.ndarray[Any, Any], scales: np.ndarray[Any, Any], index_k: IndexK) -> np.ndarray[Any, Any]:
    if index_k == "bf16":
        return decode_bf16(codes).astype(np.float64)
    return decode_fp8(codes, scales[..., None]).astype(np.float64)


@pytest.mark.parametrize("index_k", ["bf16", "fp8"])
@pytest.mark.parametrize("is_portable", [False, True], ids=["best", "portable"])
@pytest.mark.parametrize(
    ("query_count", "entry_count"),
    [(1, 1), (1, 64), (3, 63), (4, 65), (5, 1000), (64, 4096), (7, 8256), (130, 200)],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_scores_equal_float64(
    kernels: Kernels, index_k: IndexK, is_portable: bool, query_count: int, entry_count: int, seed: int
) -> None:
    import cupy

    rng = np.random.default_rng(seed)
    page_count = -(-entry_count // PAGE_ROWS)
    pool_pages = page_count + 5
    queries, query_scales = stored(rng.standard_normal((query_count, HEADS, DIM)).astype(np.float32), index_k)
    weights = rng.standard_normal((query_count, HEADS)).astype(np.float32)
    keys, key_scales = stored(rng.standard_normal((pool_pages, PAGE_ROWS, DIM)).astype(np.float32), index_k)
    pool = np.zeros((pool_pages, PAGE_BYTES[index_k]), np.uint8)
    pool[:, : keys[0].size] = keys.reshape(pool_pages, -1)
    if index_k == "fp8":
        pool[:, keys[0].size :] = key_scales.view(np.uint8).reshape(pool_pages, -1)
    table = rng.permutation(pool_pages)[:page_count].astype(np.int32)
    limits = rng.integers(0, entry_count + 2, query_count).astype(np.int32)
    out = cupy.full((query_count, entry_count + 3), POISON, cupy.float32)

    index_scores(
        kernels,
        cupy.asarray(queries),
        cupy.asarray(weights * query_scales),
        cupy.asarray(pool),
        cupy.asarray(table),
        entry_count,
        index_k=index_k,
        out=out,
        limits=cupy.asarray(limits),
        is_portable=is_portable,
    )

    exact_keys = restored(keys, key_scales, index_k)[table].reshape(-1, DIM)[:entry_count]
    exact_queries = restored(queries, np.ones_like(query_scales), index_k)
    products = np.einsum("qhd,nd->qhn", exact_queries, exact_keys)
    head_weights = (weights * query_scales).astype(np.float64)
    expected = np.einsum("qh,qhn->qn", head_weights, np.maximum(products, 0))
    magnitude = np.einsum(
        "qh,qhn->qn", np.abs(head_weights), np.einsum("qhd,nd->qhn", np.abs(exact_queries), np.abs(exact_keys))
    )
    got = out.get()
    is_inside = np.arange(entry_count)[None, :] < limits[:, None]
    assert np.all(np.isneginf(got[:, :entry_count][~is_inside]))
    error = np.abs(got[:, :entry_count] - expected)[is_inside]
    assert np.all(error <= BOUND[index_k] * magnitude[is_inside] + 1e-30), float(np.max(error))
    assert np.all(got[:, entry_count:] == POISON)


def test_nothing_to_score_is_fine(kernels: Kernels) -> None:
    import cupy

    empty = cupy.zeros((0, HEADS, DIM * 2), cupy.uint8)
    pool = cupy.zeros((1, PAGE_BYTES["bf16"]), cupy.uint8)
    table = cupy.zeros(1, cupy.int32)
    out = cupy.zeros((0, 5), cupy.float32)
    index_scores(kernels, empty, cupy.zeros((0, HEADS), cupy.float32), pool, table, 5, index_k="bf16", out=out)
