"""Page copies on a CUDA device, between pools of any layout, one of which may be mapped host memory.

Owns: strides and vector width of one launch. Does not own: the layouts (`layout.py`); `kernels/arrays/pages.py` is the
reference. Floor 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.layout import Layout, PoolShape, Strides, strides

_THREADS = 512
_BLOCKS_A_MULTIPROCESSOR = 2


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool's memory: `address` as the device sees it (for mapped host memory its device pointer)."""

    address: int
    layout: Layout
    shape: PoolShape


def copy_pages(
    kernels: Kernels,
    source: Pool,
    source_pages: Any,
    target: Pool,
    target_pages: Any,
    *,
    block_count: int | None = None,
) -> None:
    """Copy whole pages of all layers, on the current stream.

    Effect: writes the bytes of `target_pages`, and no others.
    Args:
        source_pages, target_pages: [n] int64 CuPy arrays; target pages are distinct.
        block_count: how many blocks copy; None is enough to fill the device (SGLang's kernel uses 2).
    """
    assert len(source_pages) == len(target_pages), (len(source_pages), len(target_pages))
    ours, theirs = source.shape, target.shape
    same = (ours.layer_count, ours.page_rows, ours.row_bytes) == (
        theirs.layer_count,
        theirs.page_rows,
        theirs.row_bytes,
    )
    assert same, (ours, theirs)
    rows, row_bytes = ours.page_rows, ours.row_bytes
    steps = strides(source.layout, ours), strides(target.layout, theirs)
    if all(step.row_bytes == row_bytes for step in steps):
        # Rows that are adjacent on both sides are one long row.
        rows, row_bytes = 1, rows * row_bytes
    width = _vector_bytes(row_bytes, rows, source.address, target.address, *steps)
    row_vectors = row_bytes // width
    total = ours.layer_count * len(source_pages) * rows * row_vectors
    if total == 0:
        return
    blocks = block_count or kernels.multiprocessor_count * _BLOCKS_A_MULTIPROCESSOR
    kernel = kernels.get("page_copy.cu", f"copy_pages_{width}")
    sides = [_side(pool.address, step) for pool, step in zip((source, target), steps, strict=True)]
    counts = (np.int64(len(source_pages)), np.int32(rows), np.int32(row_vectors), np.int64(total))
    kernel(
        (min(blocks, -(-total // _THREADS)),), (_THREADS,), (*sides[0], *sides[1], source_pages, target_pages, *counts)
    )


def _side(address: int, step: Strides) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(number) for number in (address, step.layer_bytes, step.page_bytes, step.row_bytes))


def _vector_bytes(row_bytes: int, rows: int, source: int, target: int, one: Strides, other: Strides) -> int:
    """The widest access that every row's begin and length allow."""
    numbers = [row_bytes, source, target]
    for step in (one, other):
        numbers += [step.layer_bytes, step.page_bytes, *([step.row_bytes] if rows > 1 else [])]
    return next(width for width in (16, 4, 1) if all(number % width == 0 for number in numbers))
