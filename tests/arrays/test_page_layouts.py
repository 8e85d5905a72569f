"""Page layouts: intervals, gather and scatter agree with each other and with arrays built the plain way."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kernels.arrays.errors import LayoutError
from kernels.arrays.layout import LAYOUTS, Layout, PoolShape, page_runs
from kernels.arrays.pages import copy_pages, gather_pages, pool_view, scatter_pages

SHAPES = st.builds(
    PoolShape,
    layer_count=st.integers(1, 4),
    page_count=st.integers(1, 5),
    page_rows=st.integers(1, 4),
    row_bytes=st.integers(1, 6),
)


def random_pool(shape: PoolShape, seed: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, shape.pool_bytes, dtype=np.uint8)


def bytes_by_runs(pool: NDArray[np.uint8], layout: Layout, shape: PoolShape, layer: int, page: int) -> list[int]:
    runs = page_runs(layout, shape, layer, page)
    indices = [runs.begin + i * runs.stride_bytes + j for i in range(runs.count) for j in range(runs.run_bytes)]
    return [int(pool[index]) for index in indices]


@given(SHAPES, st.sampled_from(LAYOUTS), st.integers(0, 1000))
def test_gather_reads_exactly_the_bytes_of_the_runs(shape: PoolShape, layout: Layout, seed: int) -> None:
    pool = random_pool(shape, seed)
    pages = np.random.default_rng(seed).permutation(shape.page_count).astype(np.int64)
    content = gather_pages(pool, layout, shape, pages)
    for layer, (position, page) in product(range(shape.layer_count), enumerate(pages)):
        assert content[layer, position].ravel().tolist() == bytes_by_runs(pool, layout, shape, layer, int(page))


@given(SHAPES, st.sampled_from(LAYOUTS))
def test_the_runs_of_all_pages_tile_the_pool(shape: PoolShape, layout: Layout) -> None:
    touched = np.zeros(shape.pool_bytes, dtype=np.int64)
    for layer, page in product(range(shape.layer_count), range(shape.page_count)):
        runs = page_runs(layout, shape, layer, page)
        for i in range(runs.count):
            begin = runs.begin + i * runs.stride_bytes
            touched[begin : begin + runs.run_bytes] += 1
    assert (touched == 1).all()


@given(SHAPES, st.sampled_from(LAYOUTS), st.integers(0, 1000), st.data())
def test_scatter_then_gather_is_the_identity_and_touches_no_other_page(
    shape: PoolShape, layout: Layout, seed: int, data: st.DataObject
) -> None:
    chosen = data.draw(st.lists(st.integers(0, shape.page_count - 1), unique=True))
    pages = np.array(chosen, dtype=np.int64)
    others = np.array(sorted(set(range(shape.page_count)) - set(chosen)), dtype=np.int64)
    pool = random_pool(shape, seed)
    untouched = gather_pages(pool, layout, shape, others)
    content = np.random.default_rng(seed + 1).integers(
        0, 256, (shape.layer_count, len(pages), shape.page_rows, shape.row_bytes), dtype=np.uint8
    )
    scatter_pages(pool, layout, shape, pages, content)
    assert np.array_equal(gather_pages(pool, layout, shape, pages), content)
    assert np.array_equal(gather_pages(pool, layout, shape, others), untouched)


@given(SHAPES, st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), st.integers(0, 1000))
def test_a_copy_between_layouts_keeps_every_page(
    shape: PoolShape, source_layout: Layout, target_layout: Layout, seed: int
) -> None:
    wider = PoolShape(shape.layer_count, shape.page_count + 2, shape.page_rows, shape.row_bytes)
    source = random_pool(shape, seed)
    target = random_pool(wider, seed + 1)
    source_pages = np.arange(shape.page_count, dtype=np.int64)
    target_pages = np.random.default_rng(seed).permutation(wider.page_count)[: shape.page_count].astype(np.int64)
    copy_pages(source, source_layout, shape, source_pages, target, target_layout, wider, target_pages)
    assert np.array_equal(
        gather_pages(source, source_layout, shape, source_pages),
        gather_pages(target, target_layout, wider, target_pages),
    )


def test_each_layout_is_the_array_order_it_is_named_for() -> None:
    shape = PoolShape(layer_count=3, page_count=4, page_rows=2, row_bytes=5)
    pool = random_pool(shape, 5)
    axes_lprb = {
        "layer_first": pool.reshape(3, 4, 2, 5),
        "page_first": pool.reshape(4, 2, 3, 5).transpose(2, 0, 1, 3),
        "page_first_direct": pool.reshape(4, 3, 2, 5).transpose(1, 0, 2, 3),
    }
    for layout in LAYOUTS:
        assert np.array_equal(pool_view(pool, layout, shape), axes_lprb[layout])


def test_only_page_first_scatters_a_page_over_many_runs() -> None:
    shape = PoolShape(layer_count=3, page_count=4, page_rows=2, row_bytes=5)
    counts = {layout: page_runs(layout, shape, 1, 2).count for layout in LAYOUTS}
    assert counts == {"layer_first": 1, "page_first": 2, "page_first_direct": 1}


def test_a_buffer_of_the_wrong_size_is_refused() -> None:
    shape = PoolShape(layer_count=1, page_count=2, page_rows=2, row_bytes=4)
    with pytest.raises(LayoutError, match="needs 16 bytes but the buffer has 15"):
        gather_pages(np.zeros(15, dtype=np.uint8), "layer_first", shape, np.zeros(1, dtype=np.int64))
