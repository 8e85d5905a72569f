"""Index scores on a CUDA device, over paged keys.

Owns: the choice of kernel and grid. Does not own: what a score is (`kernels/arrays/scores.py` is the reference), the
number formats (`bfloat16.py`, `float8.py`). Floor 0.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from kernels.arrays.cuda.loader import Kernels

HEADS, DIM, PAGE_ROWS = 64, 128, 64
IndexK = Literal["bf16", "fp8"]
PAGE_BYTES: dict[IndexK, int] = {"bf16": PAGE_ROWS * DIM * 2, "fp8": PAGE_ROWS * (DIM + 4)}
_QUERIES_A_BLOCK = 4
_RING: dict[IndexK, tuple[int, int]] = {"bf16": (8, 4), "fp8": (16, 8)}
"""Pages that fit in shared memory beside the queries, and how many of them are being copied."""
_ENTRIES_A_BLOCK = 128


def index_scores(
    kernels: Kernels,
    queries: Any,
    head_weights: Any,
    pool: Any,
    page_table: Any,
    entry_count: int,
    *,
    index_k: IndexK,
    out: Any,
    limits: Any = None,
    is_portable: bool = False,
) -> None:
    """Score the first `entry_count` entries of a paged context for every query, on the current stream.

    Effect: writes out[:, :entry_count].
    Args (all CuPy arrays, C-contiguous, 16-byte aligned):
        queries: [query_count, 64, 128 * element] uint8: bf16, or e4m3 codes whose scales are in `head_weights`.
        head_weights: [query_count, 64] float32.
        pool: [page_count, PAGE_BYTES] uint8; fp8 pages are 64 rows of codes, then 64 float32 scales, all positive.
        page_table: [ceil(entry_count / 64)] int32, pages of the context in order.
        out: [query_count, >= entry_count] float32.
        limits: [query_count] int32 or None; entries from there on score minus infinity.
        is_portable: take the kernel that runs everywhere also where there is a faster one.
    """
    query_count = queries.shape[0]
    element_bytes = 2 if index_k == "bf16" else 1
    assert queries.shape == (query_count, HEADS, DIM * element_bytes), queries.shape
    assert head_weights.shape == (query_count, HEADS), head_weights.shape
    assert pool.shape[1] == PAGE_BYTES[index_k], (pool.shape, index_k)
    assert page_table.shape[0] * PAGE_ROWS >= entry_count, (page_table.shape, entry_count)
    assert out.shape[0] == query_count and out.shape[1] >= entry_count, (out.shape, entry_count)
    if query_count == 0 or entry_count == 0:
        return
    defines = {"FP8": "1"} if index_k == "fp8" else {}
    arguments = (queries, head_weights, pool, page_table, 0 if limits is None else limits)
    counts = (np.int32(query_count), np.int32(entry_count), out, np.int64(out.shape[1]))
    if kernels.has_wgmma and not is_portable:
        stages, ahead = _RING[index_k]
        defines |= {"STAGES": str(stages), "AHEAD": str(ahead)}
        shared_bytes = _QUERIES_A_BLOCK * HEADS * DIM * element_bytes + stages * PAGE_BYTES[index_k] + 1024
        groups = -(-query_count // _QUERIES_A_BLOCK)
        sharers = max(1, min(kernels.multiprocessor_count // groups, -(-entry_count // PAGE_ROWS)))
        kernel = kernels.get("index_scores_sm90.cu", "index_scores", defines, shared_bytes=shared_bytes)
        kernel((sharers, groups), (384,), arguments + counts, shared_mem=shared_bytes)
        return
    kernel = kernels.get("index_scores.cu", "index_scores", defines)
    kernel((-(-entry_count // _ENTRIES_A_BLOCK), min(query_count, 8)), (128,), arguments + counts)
