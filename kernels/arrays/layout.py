"""Where a page's bytes lie in a pool: three layouts, one function.

Owns: the arithmetic of (layer, page) to bytes. Does not own: moving them (`pages.py`), which page belongs to whom.
Floor 0. Source: the names of SGLang's memory_pool_host.py; arithmetic ours.

| layout | order of the axes in memory | bytes of one (layer, page) |
|---|---|---|
| `layer_first` | layer, page, row, byte | one run |
| `page_first` | page, row, layer, byte | `page_rows` runs, one layer's row each |
| `page_first_direct` | page, layer, row, byte | one run; all layers of a page are neighbours |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Layout = Literal["layer_first", "page_first", "page_first_direct"]
LAYOUTS: tuple[Layout, ...] = ("layer_first", "page_first", "page_first_direct")


@dataclass(frozen=True, slots=True)
class PoolShape:
    """A paged pool: `layer_count` layers of `page_count` pages of `page_rows` rows of `row_bytes` bytes."""

    layer_count: int
    page_count: int
    page_rows: int
    row_bytes: int

    @property
    def page_bytes(self) -> int:
        """Bytes of one page in one layer."""
        return self.page_rows * self.row_bytes

    @property
    def pool_bytes(self) -> int:
        return self.layer_count * self.page_count * self.page_bytes


@dataclass(frozen=True, slots=True)
class Strides:
    """How far apart neighbours lie, in bytes; the bytes of a row are always adjacent."""

    layer_bytes: int
    page_bytes: int
    row_bytes: int


@dataclass(frozen=True, slots=True)
class Runs:
    """`count` runs of `run_bytes` adjacent bytes; run i is [begin + i * stride, begin + i * stride + run_bytes)."""

    begin: int
    run_bytes: int
    count: int
    stride_bytes: int


def strides(layout: Layout, shape: PoolShape) -> Strides:
    """The one place that knows the layouts."""
    row = shape.row_bytes
    if layout == "layer_first":
        return Strides(layer_bytes=shape.page_count * shape.page_bytes, page_bytes=shape.page_bytes, row_bytes=row)
    page_of_all_layers = shape.layer_count * shape.page_bytes
    if layout == "page_first":
        return Strides(layer_bytes=row, page_bytes=page_of_all_layers, row_bytes=shape.layer_count * row)
    assert layout == "page_first_direct", layout
    return Strides(layer_bytes=shape.page_bytes, page_bytes=page_of_all_layers, row_bytes=row)


def page_runs(layout: Layout, shape: PoolShape, layer: int, page: int) -> Runs:
    """The byte runs of one layer's part of one page, neighbouring rows merged into one run.

    Args:
        layer: in [0, layer_count).
        page: in [0, page_count).
    """
    assert 0 <= layer < shape.layer_count, (layer, shape)
    assert 0 <= page < shape.page_count, (page, shape)
    step = strides(layout, shape)
    begin = layer * step.layer_bytes + page * step.page_bytes
    if step.row_bytes == shape.row_bytes:
        return Runs(begin=begin, run_bytes=shape.page_bytes, count=1, stride_bytes=shape.page_bytes)
    return Runs(begin=begin, run_bytes=shape.row_bytes, count=shape.page_rows, stride_bytes=step.row_bytes)
