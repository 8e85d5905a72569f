"""Bytes per full token of each pool: what a capacity formula counts, what is stored, and what pages add.

Owns: the formulas by name, and granting tokens by one. Does not own: whole pages of real pools (`allocation`).
Floor 2a. Source: SGLang 0.5.16 DSV4PoolConfigurator (facts/sglang.md section 3), in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from kernels.errors import ConfigError
from kernels.hicache.geometry import Geometry, PoolKind
from kernels.hicache.sizing import (
    RING_TOKENS,
    SWA_RATIO,
    PoolFormats,
    page_bytes,
    slot_bytes,
    slots_per_full_token,
    slots_per_page,
)

Formula = Literal["fp8", "fp4", "bf16", "allocated"]
"""fp8, fp4, bf16: SGLang's formula up to 0.5.16, with index-K entries counted in that format, right or wrong.
allocated: every pool as it is allocated, page padding too."""
FORMULAS: tuple[Formula, ...] = get_args(Formula)

STATE_POOLS: frozenset[PoolKind] = frozenset({"c4_state", "index_state", "c128_state"})


@dataclass(frozen=True, slots=True)
class PoolCost:
    """One pool's device bytes per full token, summed over its layers.

    counted_bytes: its slots, by the formula. stored_bytes: its slots, in the format that they have.
    padding_bytes: what fills its pages up. counts_padding: whether the formula counts that too.
    """

    kind: PoolKind
    layer_count: int
    counted_bytes: float
    stored_bytes: float
    padding_bytes: float
    counts_padding: bool

    @property
    def by_formula_bytes(self) -> float:
        return self.counted_bytes + (self.padding_bytes if self.counts_padding else 0.0)

    @property
    def allocated_bytes(self) -> float:
        return self.stored_bytes + self.padding_bytes

    @property
    def under_count_bytes(self) -> float:
        """Stored, but not counted; negative where the formula counts more than there is."""
        return self.stored_bytes - self.counted_bytes


def formula_named(name: str) -> Formula:
    """Raises: ConfigError for a formula that does not exist."""
    found = next((formula for formula in FORMULAS if formula == name), None)
    if found is None:
        raise ConfigError(f"unknown formula '{name}'", key="--formula", value=name, allowed=FORMULAS)
    return found


def _pages_per_full_token(kind: PoolKind, geometry: Geometry, swa_ratio: float) -> float:
    """Pages of one layer that SGLang allocates for one full token; a page of a state pool is one ring."""
    match kind:
        case "swa":
            return swa_ratio / geometry.page_tokens
        case "c4_state" | "index_state":
            return swa_ratio / RING_TOKENS
        case "c128_state":
            return 0.0
        case _:
            return 1 / geometry.page_tokens


def pool_costs(
    geometry: Geometry, formats: PoolFormats, formula: Formula, *, swa_ratio: float = SWA_RATIO
) -> tuple[PoolCost, ...]:
    """Every pool that the geometry has. c128 states cost nothing here: they go by request, not by token."""
    return tuple(_cost(kind, geometry, formats, formula, swa_ratio) for kind in geometry.pool_kinds)


def _cost(kind: PoolKind, geometry: Geometry, formats: PoolFormats, formula: Formula, swa_ratio: float) -> PoolCost:
    layer_count = len(geometry.layers_with(kind))
    slots = layer_count * slots_per_full_token(kind, geometry, swa_ratio)
    stored = slots * slot_bytes(kind, formats)
    counted = stored if formula == "allocated" else slots * slot_bytes(kind, replace(formats, index_k=formula))
    fill = page_bytes(kind, geometry, formats) - slots_per_page(kind, geometry) * slot_bytes(kind, formats)
    padding = layer_count * _pages_per_full_token(kind, geometry, swa_ratio) * fill
    return PoolCost(kind, layer_count, counted, stored, padding, counts_padding=formula == "allocated")


def counted_bytes(costs: Sequence[PoolCost]) -> float:
    """Bytes of one full token over all pools, as the formula counts them."""
    return sum(cost.by_formula_bytes for cost in costs)


def granted_tokens(memory_bytes: int, costs: Sequence[PoolCost], page_tokens: int) -> int:
    """Full tokens that a formula grants for a memory, cut to whole pages."""
    return int(memory_bytes / counted_bytes(costs)) // page_tokens * page_tokens
