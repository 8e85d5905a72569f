"""The device pools of so many tokens, one allocation for each layer, in the order in which SGLang makes them.

Owns: page counts of a device's pools, and the order. Does not own: bytes of a page (`sizing`), judging (`judgement`).
Floor 2a. Source: SGLang 0.5.16 DeepSeekV4TokenToKVPool and CompressStatePool: one `torch.zeros` a layer; window, c4,
c128, index-K, then the states layer by layer. DSATokenToKVPool: full KV, then index-K.

The simulator's own device tier gives every logical page a page of the window pool too (see `pools`); here the window
pool has its share of the tokens, as on a real device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernels.hicache.audit.costs import STATE_POOLS
from kernels.hicache.audit.rules import WindowPool
from kernels.hicache.geometry import Geometry, PoolKind
from kernels.hicache.sizing import PoolFormats, PoolSize, pool_sizes, slot_bytes, slots_per_page

_PAGED_ORDER: tuple[PoolKind, ...] = ("swa", "kv", "c4", "c128", "index_k")


@dataclass(frozen=True, slots=True)
class Failure:
    """The first allocation that does not fit: which layer's, how much it needs, how much is left for it."""

    kind: PoolKind
    layer: int
    needed_bytes: int
    left_bytes: int


def device_page_counts(
    geometry: Geometry, tokens: int, window: WindowPool, *, requests: int = 0
) -> dict[PoolKind, int]:
    """Pages of every pool for so many full tokens; a page of a state pool is one ring.

    requests: running requests that the c128 states are sized for; 0 leaves them out.
    """
    full = tokens // geometry.page_tokens
    window_pages = int(tokens * window.ratio) // geometry.page_tokens
    counts: dict[PoolKind, int] = {}
    for kind in geometry.pool_kinds:
        if kind == "swa":
            counts[kind] = window_pages
        elif kind == "c128_state":
            counts[kind] = request_rings(requests)
        else:
            is_state = kind in STATE_POOLS
            counts[kind] = window_pages * geometry.page_tokens // window.ring_tokens if is_state else full
    return counts


def request_rings(requests: int) -> int:
    """Rings of c128 states for so many running requests; SGLang has three to spare: a slot, a ring, its rounding."""
    return requests + 3 if requests else 0


def stored_bytes(pools: Sequence[PoolSize], geometry: Geometry, formats: PoolFormats) -> int:
    """Bytes of the slots alone, without what fills pages up."""
    return sum(
        pool.layer_count * pool.page_count * slots_per_page(pool.kind, geometry) * slot_bytes(pool.kind, formats)
        for pool in pools
    )


def one_page_bytes(geometry: Geometry, formats: PoolFormats) -> int:
    """A page of every pool that goes by tokens: less than this holds nothing, and this is what page 0 costs."""
    counts: dict[PoolKind, int] = dict.fromkeys(geometry.pool_kinds, 1)
    counts.pop("c128_state", None)
    return sum(pool.size_bytes for pool in pool_sizes(geometry, formats, counts))


def in_order(pools: Sequence[PoolSize], geometry: Geometry) -> Iterator[tuple[PoolSize, int]]:
    """Each allocation: its pool, and the layer (absolute id) that it serves."""
    by_kind = {pool.kind: pool for pool in pools}
    for kind in _PAGED_ORDER:
        if kind in by_kind:
            yield from ((by_kind[kind], layer) for layer in geometry.layers_with(kind))
    for layer in range(geometry.layer_count):
        yield from ((by_kind[kind], layer) for kind in geometry.pools_of(layer) if kind in STATE_POOLS)


def first_failure(pools: Sequence[PoolSize], geometry: Geometry, memory_bytes: int) -> Failure | None:
    """The first allocation that a memory of so many bytes refuses; None where all fit."""
    left = memory_bytes
    for pool, layer in in_order(pools, geometry):
        if pool.layer_bytes > left:
            return Failure(pool.kind, layer, pool.layer_bytes, left)
        left -= pool.layer_bytes
    return None
