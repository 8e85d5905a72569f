"""Gather and scatter of whole pages, between pools of any layout.

Owns: moving page bytes. Does not own: the layouts (`layout.py`), what the bytes mean. Floor 0.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.errors import LayoutError
from kernels.arrays.layout import Layout, PoolShape, strides
from kernels.arrays.namespace import namespace

Bytes = NDArray[np.uint8]
PageIds = NDArray[np.int64]


def pool_view(pool: Bytes, layout: Layout, shape: PoolShape) -> Bytes:
    """The pool as [layer_count, page_count, page_rows, row_bytes], whatever its layout; shares memory with it.

    Args:
        pool: [pool_bytes] uint8, contiguous.
    Raises: LayoutError if the pool's size does not fit the shape.
    """
    if pool.ndim != 1 or pool.size != shape.pool_bytes:
        raise LayoutError(layout=layout, expected_bytes=shape.pool_bytes, actual_bytes=pool.size)
    step = strides(layout, shape)
    view = namespace(pool).lib.stride_tricks.as_strided(
        pool,
        shape=(shape.layer_count, shape.page_count, shape.page_rows, shape.row_bytes),
        strides=(step.layer_bytes, step.page_bytes, step.row_bytes, 1),
    )
    return cast(Bytes, view)


def gather_pages(pool: Bytes, layout: Layout, shape: PoolShape, pages: PageIds) -> Bytes:
    """Copy whole pages of all layers out of a pool.

    Args:
        pool: [pool_bytes] uint8.
        pages: [n] int64, page ids in [0, page_count).
    Returns: [layer_count, n, page_rows, row_bytes] uint8, a copy.
    Raises: LayoutError if the pool's size does not fit the shape.
    """
    return pool_view(pool, layout, shape)[:, pages]


def scatter_pages(pool: Bytes, layout: Layout, shape: PoolShape, pages: PageIds, content: Bytes) -> None:
    """Write whole pages of all layers into a pool.

    Effect: writes the bytes of `pages` in `pool`, and no others.
    Args:
        pages: [n] int64, distinct page ids.
        content: [layer_count, n, page_rows, row_bytes] uint8.
    Raises: LayoutError if the pool's size does not fit the shape.
    """
    assert content.shape == (shape.layer_count, len(pages), shape.page_rows, shape.row_bytes), content.shape
    pool_view(pool, layout, shape)[:, pages] = content


def copy_pages(
    source: Bytes,
    source_layout: Layout,
    source_shape: PoolShape,
    source_pages: PageIds,
    target: Bytes,
    target_layout: Layout,
    target_shape: PoolShape,
    target_pages: PageIds,
) -> None:
    """Copy whole pages of all layers between two pools, which may differ in layout and in page count.

    Effect: writes the bytes of `target_pages` in `target`, and no others.
    Args:
        source_pages: [n] int64. target_pages: [n] int64, distinct.
    Raises: LayoutError if a pool's size does not fit its shape.
    """
    assert len(source_pages) == len(target_pages), (len(source_pages), len(target_pages))
    content = gather_pages(source, source_layout, source_shape, source_pages)
    scatter_pages(target, target_layout, target_shape, target_pages, content)
