"""What a pool weighs: one function for bytes per slot, used by allocation and by capacity alike.

Owns: bytes per slot, page and full token of every pool and format, and the size of a pool. Does not own: how many
pages there are (spec, audit), what a memory is judged to hold (audit).
Floor 2a. Source: SGLang 0.5.16 DeepSeekV4TokenToKVPool and DSV4PoolConfigurator (numbers), ours (code).

The incident's second bug lived between two such functions: the pool allocated 256 bytes per bf16 index-K entry
while the capacity formula counted 132. Here both go by `slot_bytes`; a wrong count must be asked for (audit/costs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from kernels.hicache.geometry import Geometry, PoolKind

IndexFormat = Literal["bf16", "fp8", "fp4"]
KvFormat = Literal["fp8_scaled", "fp8"]
"""Full KV of the dsa preset: 512 fp8 + 4 fp32 scales + 64 bf16 rope = 656 bytes, or 576 plain fp8 bytes."""

_INDEX_DIMENSIONS = 128
_INDEX_BYTES_PER_SCALE = 4
_LATENT_BYTES = 584  # 448 fp8 + 64 bf16 rope + 7 scales + 1 pad.
_PAGE_ALIGNMENT_BYTES = 576
_LATENT_POOLS = frozenset({"swa", "c4", "c128"})
_RING_SLOTS = 8
_C128_RING_SLOTS = 128
_STATE_BYTES_PER_VALUE = 4


@dataclass(frozen=True, slots=True)
class PoolFormats:
    """Storage formats that a user can choose; everything else is fixed by the model."""

    index_k: IndexFormat = "bf16"
    kv: KvFormat = "fp8_scaled"


def index_bytes(index_format: IndexFormat) -> int:
    """Bytes of one index-K entry of 128 dimensions; fp8 and fp4 carry one fp32 scale."""
    match index_format:
        case "bf16":
            return 2 * _INDEX_DIMENSIONS
        case "fp8":
            return _INDEX_DIMENSIONS + _INDEX_BYTES_PER_SCALE
        case "fp4":
            return _INDEX_DIMENSIONS // 2 + _INDEX_BYTES_PER_SCALE
    assert_never(index_format)


def slot_bytes(kind: PoolKind, formats: PoolFormats) -> int:
    """Bytes of one slot of a pool in one layer."""
    match kind:
        case "swa" | "c4" | "c128":
            return _LATENT_BYTES
        case "index_k":
            return index_bytes(formats.index_k)
        case "kv":
            return 656 if formats.kv == "fp8_scaled" else 576
        case "c4_state":
            return 2 * 2 * 512 * _STATE_BYTES_PER_VALUE
        case "index_state":
            return 2 * 2 * _INDEX_DIMENSIONS * _STATE_BYTES_PER_VALUE
        case "c128_state":
            return 2 * 512 * _STATE_BYTES_PER_VALUE
    assert_never(kind)


def slots_per_page(kind: PoolKind, geometry: Geometry) -> int:
    """Slots of a pool that belong to one page of full tokens. A state page is the ring of one trailing page."""
    match kind:
        case "swa" | "kv":
            return geometry.page_tokens
        case "c4":
            return geometry.page_tokens // 4
        case "c128":
            return geometry.page_tokens // 128
        case "index_k":
            return geometry.page_tokens // geometry.index_ratio
        case "c4_state" | "index_state":
            return _RING_SLOTS
        case "c128_state":
            return _C128_RING_SLOTS
    assert_never(kind)


def page_bytes(kind: PoolKind, geometry: Geometry, formats: PoolFormats) -> int:
    """Bytes of one page of a pool in one layer, as allocated: latent pages are padded to whole 576-byte rows."""
    size_bytes = slots_per_page(kind, geometry) * slot_bytes(kind, formats)
    if kind in _LATENT_POOLS:
        return -(-size_bytes // _PAGE_ALIGNMENT_BYTES) * _PAGE_ALIGNMENT_BYTES
    return size_bytes


@dataclass(frozen=True, slots=True)
class PoolSize:
    """One pool of one tier: `layer_count` layers of `page_count` pages."""

    kind: PoolKind
    layer_count: int
    page_count: int
    page_bytes: int

    @property
    def layer_bytes(self) -> int:
        return self.page_count * self.page_bytes

    @property
    def size_bytes(self) -> int:
        return self.layer_count * self.layer_bytes


def pool_sizes(geometry: Geometry, formats: PoolFormats, page_counts: Mapping[PoolKind, int]) -> tuple[PoolSize, ...]:
    """The pools of one tier. Both the allocator and the audit take them from here, so they cannot disagree."""
    return tuple(
        PoolSize(kind, len(geometry.layers_with(kind)), count, page_bytes(kind, geometry, formats))
        for kind, count in page_counts.items()
    )
