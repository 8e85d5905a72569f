"""Page copies and page versions on the device, against the NumPy functions and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.pages import Pool, copy_pages
from kernels.arrays.cuda.versions import PagedMemory, Seen, read_versions, write_versions
from kernels.arrays.layout import LAYOUTS, Layout, PoolShape
from kernels.arrays.pages import copy_pages as reference

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels()


@pytest.mark.parametrize("source_layout", LAYOUTS)
@pytest.mark.parametrize("target_layout", LAYOUTS)
@pytest.mark.parametrize(("rows", "row_bytes"), [(64, 256), (64, 132), (64, 131), (1, 16), (2, 584)])
@pytest.mark.parametrize(("page_count", "block_count"), [(0, None), (1, 1), (5, 2), (17, None)])
@pytest.mark.parametrize("direction", ["load", "backup"])
def test_a_copy_between_layouts_moves_exactly_the_named_pages(
    kernels: Kernels,
    source_layout: Layout,
    target_layout: Layout,
    rows: int,
    row_bytes: int,
    page_count: int,
    block_count: int | None,
    direction: str,
) -> None:
    import cupy
    import cupyx

    rng = np.random.default_rng(rows * row_bytes + page_count)
    source_shape = PoolShape(layer_count=3, page_count=23, page_rows=rows, row_bytes=row_bytes)
    target_shape = PoolShape(layer_count=3, page_count=19, page_rows=rows, row_bytes=row_bytes)
    source = rng.integers(0, 255, source_shape.pool_bytes, np.uint8)
    target = rng.integers(0, 255, target_shape.pool_bytes, np.uint8)
    source_pages, target_pages = rng.permutation(23)[:page_count], rng.permutation(19)[:page_count]
    pinned = cupyx.empty_pinned(source.size if direction == "load" else target.size, np.uint8)
    pinned[:] = source if direction == "load" else target
    device = cupy.asarray(target if direction == "load" else source)
    host_address, device_address = pinned.ctypes.data, device.data.ptr
    ends = (host_address, device_address) if direction == "load" else (device_address, host_address)

    copy_pages(
        kernels,
        Pool(ends[0], source_layout, source_shape),
        cupy.asarray(source_pages),
        Pool(ends[1], target_layout, target_shape),
        cupy.asarray(target_pages),
        block_count=block_count,
    )
    cupy.cuda.get_current_stream().synchronize()

    expected = target.copy()
    reference(source, source_layout, source_shape, source_pages, expected, target_layout, target_shape, target_pages)
    assert np.array_equal(device.get() if direction == "load" else pinned, expected)


def test_a_reader_sees_versions_and_tears(kernels: Kernels) -> None:
    import cupy

    layers, pages = np.array([0, 2], np.int64), np.array([4, 0, 5], np.int64)
    words, page_total = 96, 7
    memory = cupy.zeros((3, page_total, words), cupy.int64)
    versions = np.arange(1, 7).reshape(2, 3)
    where = PagedMemory(address=memory.data.ptr, layer_bytes=page_total * words * 8, page_bytes=words * 8)
    write_versions(kernels, where, cupy.asarray(layers), cupy.asarray(pages), cupy.asarray(versions))
    expected = np.zeros((3, page_total, words), np.int64)
    expected[layers[:, None], pages] = versions[..., None]
    assert np.array_equal(memory.get(), expected)

    memory[0, 4, 40:] = 99  # a tear
    memory[2, 0, 7] = 55  # a third writer in the middle
    seen = Seen(*(cupy.full(6, -1, cupy.int64) for _ in range(4)))
    read_versions(kernels, where, cupy.asarray(layers), cupy.asarray(pages), seen)
    assert list(seen.heads.get()) == [1, 2, 3, 4, 5, 6]
    assert list(seen.tails.get()) == [99, 2, 3, 4, 5, 6]
    assert list(seen.tears.get()) == [40, 96, 96, 96, 7, 96]
    assert list(seen.strange.get()) == [0, 0, 0, 0, 1, 0]
