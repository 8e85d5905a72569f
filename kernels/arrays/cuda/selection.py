"""Top-k on a CUDA device, with the tie rule of `kernels/arrays/selection.py`.

Owns: how much shared memory a row gets. Does not own: the rule. Floor 0.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

import numpy as np

from kernels.arrays.cuda.loader import Kernels

_SAMPLES = 256
_THREADS = 1024
"""Of a multiprocessor, shared by the rows that are on it."""
_STATIC_BYTES = 4096


def top_k(kernels: Kernels, scores: Any, k: int, *, out: Any, lengths: Any = None) -> None:
    """Indices of the k best scores of each row, ascending, on the current stream.

    Effect: writes all of `out`; where a row has fewer than k scores, -1 behind its last index.
    Args (CuPy arrays, C-contiguous):
        scores: [rows, length] float32, no NaN.
        out: [rows, k] int32.
        lengths: [rows] int32 or None: only the first so many scores of a row count.
    """
    rows, length = scores.shape
    assert out.shape == (rows, k), (out.shape, rows, k)
    assert k >= 1, k
    if rows == 0:
        return
    rank, capacity = sample_plan(length, k)
    bitmap_bytes = 2 * 4 * -(-max(length, 1) // 32)
    capacity = min(capacity, (kernels.shared_bytes_max - _STATIC_BYTES - bitmap_bytes) // 8)
    assert capacity > 0, f"a row of {length} scores needs more shared memory than this device has"
    shared_bytes = capacity * 8 + bitmap_bytes
    blocks = _blocks_together(kernels, rows, shared_bytes)
    threads = _THREADS // blocks
    defines = {"THREADS": str(threads), "BLOCKS": str(blocks)}
    kernel = kernels.get("top_k.cu", "top_k", defines, shared_bytes=shared_bytes)
    arguments = (scores, np.int64(scores.shape[1]), 0 if lengths is None else lengths, np.int32(length))
    kernel(
        (rows,), (threads,), (*arguments, np.int32(k), np.int32(rank), np.int32(capacity), out), shared_mem=shared_bytes
    )


def _blocks_together(kernels: Kernels, rows: int, shared_bytes: int) -> int:
    """How many rows share a multiprocessor: while one of them waits for a barrier, the others load.

    Four where shared memory allows it, and one where there are too few rows for more.
    """
    if rows <= kernels.multiprocessor_count:
        return 1
    fitting = kernels.shared_bytes_max // (shared_bytes + _STATIC_BYTES)
    return 4 if fitting >= 4 else 2 if fitting >= 2 else 1


def sample_plan(length: int, k: int) -> tuple[int, int]:
    """Which sample becomes the bound, and how many candidates there is room for.

    The bound must let at least k scores pass: k of `length` scores are about m = k * 256 / length of the samples, give
    or take sqrt(m); four of those are added. The number that passes varies likewise around its mean; six are allowed
    for. A miss costs time, not correctness.
    """
    mean = k * _SAMPLES / max(length, 1)
    rank = min(_SAMPLES, ceil(mean + 4 * sqrt(mean) + 4))
    capacity = min(length, ceil((rank + 6 * sqrt(rank)) * length / _SAMPLES))
    return rank, max(capacity, 1)
