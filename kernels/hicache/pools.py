"""Pools: one paged buffer per kind and tier, and the map from absolute layers to buffer-local ones.

Owns: buffers made on a machine. Does not own: which pages are used (allocator), or when (transfers, access).
Floor 2a. Source: DESIGN.md section 4; SGLang's DeepSeekV4TokenToKVPool and host pools for the inventory.

All pools of one tier share logical page ids: page p of `c4`, `index_k` and `c128` belongs to the same 256 full
tokens. SGLang gives the sliding-window pool its own, smaller pool (0.1 slots per full token) and its own indices;
here `swa` and the states have a page for every logical page, and only *which pages hold a valid window* is
tracked (see `node.PageRun`). The window pool's own capacity limit is therefore not modelled: an eviction that only
a full window pool would force does not happen here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kernels.hicache.geometry import Geometry, PoolKind
from kernels.hicache.sizing import PoolFormats, pool_sizes
from kernels.substrate.contract import Buffer, Machine, PageIds, Region


class Pool:
    """One kind's pages in one tier: [len(layers), page_count] pages."""

    def __init__(self, kind: PoolKind, buffer: Buffer, layers: tuple[int, ...]) -> None:
        assert buffer.layer_count == len(layers), (kind, buffer.layer_count, len(layers))
        self.kind = kind
        self.buffer = buffer
        self.layers = layers
        self._local = {layer: local for local, layer in enumerate(layers)}

    def region(self, layer: int, pages: PageIds) -> Region:
        """Pages of one layer, given by its absolute id."""
        __tracebackhide__ = True  # Who asks for the pages is the call site.
        return Region(self.buffer, (self._local[layer],), pages)

    def all_layers(self, pages: PageIds) -> Region:
        """Pages of every layer that has this pool."""
        __tracebackhide__ = True
        return Region(self.buffer, tuple(range(len(self.layers))), pages)

    def __repr__(self) -> str:
        return f"Pool({self.kind}, {self.buffer.space}, {len(self.layers)} layers x {self.buffer.page_count} pages)"


class TierPools:
    """All pools of one tier (device or host) of one rank."""

    def __init__(
        self, machine: Machine, geometry: Geometry, formats: PoolFormats, *, name: str, space: str, page_count: int
    ) -> None:
        """Effect: makes one buffer per pool kind, named `name.kind`, with `page_count` pages in `space`."""
        self.page_count = page_count
        self._pools: Mapping[PoolKind, Pool] = {
            size.kind: Pool(
                size.kind,
                machine.buffer(
                    f"{name}.{size.kind}",
                    space=space,
                    layer_count=size.layer_count,
                    page_count=size.page_count,
                    page_bytes=size.page_bytes,
                ),
                geometry.layers_with(size.kind),
            )
            for size in pool_sizes(geometry, formats, dict.fromkeys(geometry.pool_kinds, page_count))
        }

    def __getitem__(self, kind: PoolKind) -> Pool:
        return self._pools[kind]

    def __iter__(self) -> Iterator[Pool]:
        return iter(self._pools.values())

    def __repr__(self) -> str:
        return f"TierPools({', '.join(self._pools)}; {self.page_count} pages)"
