"""What a pool weighs: one function for bytes per slot, used by allocation and by capacity alike.

Owns: bytes per slot, page and full token of every pool and format. Does not own: how many pages there are.
Floor 2a. Source: SGLang 0.5.16 DeepSeekV4TokenToKVPool and DSV4PoolConfigurator (numbers), ours (code).

The incident's second bug lived between two such functions: the pool allocated 256 bytes per bf16 index-K entry
while the capacity formula counted 132. `index_formula` can ask for that wrong count; nothing else can disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from kernels.hicache.geometry import Geometry, PoolKind

IndexFormat = Literal["bf16", "fp8", "fp4"]
KvFormat = Literal["fp8_scaled", "fp8"]
"""Full KV of the dsa preset: 512 fp8 + 4 fp32 scales + 64 bf16 rope = 656 bytes, or 576 plain fp8 bytes."""

SWA_RATIO = 0.1
"""Sliding-window slots granted per full token (SGLang's default for DeepSeek-V4)."""

_INDEX_DIMENSIONS = 128
_INDEX_BYTES_PER_SCALE = 4
_LATENT_BYTES = 584  # 448 fp8 + 64 bf16 rope + 7 scales + 1 pad.
_PAGE_ALIGNMENT_BYTES = 576
_LATENT_POOLS = frozenset({"swa", "c4", "c128"})
_RING_SLOTS = 8
_RING_TOKENS = 128  # The capacity formula counts one ring per window of 128 tokens, although a page has 256.
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


def _slots_per_full_token(kind: PoolKind, geometry: Geometry, swa_ratio: float) -> float:
    match kind:
        case "swa":
            return swa_ratio
        case "c4_state" | "index_state":
            return swa_ratio * _RING_SLOTS / _RING_TOKENS
        case "c128_state":
            return 0.0  # One ring per request slot: SGLang's formula budgets it apart.
        case "kv" | "c4" | "c128" | "index_k":
            return slots_per_page(kind, geometry) / geometry.page_tokens
    assert_never(kind)


def bytes_per_full_token(
    geometry: Geometry,
    formats: PoolFormats,
    *,
    index_formula: IndexFormat | None = None,
    swa_ratio: float = SWA_RATIO,
) -> float:
    """Device bytes that one full token costs over all layers and pools, as the capacity formula counts them.

    Args:
        index_formula: count index-K entries by this format instead of the one that is allocated; None is right.
    """
    counted = formats if index_formula is None else PoolFormats(index_k=index_formula, kv=formats.kv)
    return sum(
        len(geometry.layers_with(kind)) * _slots_per_full_token(kind, geometry, swa_ratio) * slot_bytes(kind, counted)
        for kind in geometry.pool_kinds
    )


def granted_tokens(
    pool_bytes: int, geometry: Geometry, formats: PoolFormats, *, index_formula: IndexFormat | None = None
) -> int:
    """Tokens that `pool_bytes` of device memory are taken to hold, cut to whole pages."""
    tokens = int(pool_bytes / bytes_per_full_token(geometry, formats, index_formula=index_formula))
    return tokens // geometry.page_tokens * geometry.page_tokens


def overcommitted_bytes(
    pool_bytes: int, geometry: Geometry, formats: PoolFormats, *, index_formula: IndexFormat | None = None
) -> float:
    """Bytes that the granted tokens really need beyond `pool_bytes` (negative: room is left)."""
    tokens = granted_tokens(pool_bytes, geometry, formats, index_formula=index_formula)
    return tokens * bytes_per_full_token(geometry, formats) - pool_bytes
