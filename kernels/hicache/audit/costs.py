"""Bytes per full token of each pool: what a capacity formula counts, what is stored, and what pages add.

Owns: the formulas by name, and granting tokens by one. Does not own: whole pages of real pools (`allocation`).
Floor 2a. Source: SGLang 0.5.16 DSV4PoolConfigurator (facts/sglang.md section 3), in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, assert_never, get_args

from kernels.errors import ConfigError
from kernels.hicache.audit.rules import Rules, WindowPool
from kernels.hicache.geometry import Geometry, PoolKind
from kernels.hicache.sizing import PoolFormats, page_bytes, slot_bytes, slots_per_page

Formula = Literal["fp8", "fp4", "bf16", "allocated"]
"""fp8, fp4, bf16: SGLang's formula with index-K entries counted in that format, right or wrong.
allocated: every pool as it is allocated, page padding too, whatever the rules."""
FORMULAS: tuple[Formula, ...] = get_args(Formula)

SWA_RATIO = 0.1
"""Sliding-window slots granted per full token (SGLang's default for DeepSeek-V4)."""

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


def _pages_per_full_token(kind: PoolKind, geometry: Geometry, window: WindowPool) -> float:
    """Pages of one layer that are granted for one full token; a page of a state pool is one ring."""
    match kind:
        case "swa":
            return window.ratio / geometry.page_tokens
        case "c4_state" | "index_state":
            return window.ratio / window.ring_tokens
        case "c128_state":
            return 0.0  # One ring per request slot: SGLang's formula budgets it apart.
        case "kv" | "c4" | "c128" | "index_k":
            return 1 / geometry.page_tokens
    assert_never(kind)


def pool_costs(
    geometry: Geometry, formats: PoolFormats, formula: Formula, rules: Rules, *, swa_ratio: float = SWA_RATIO
) -> tuple[PoolCost, ...]:
    """Every pool that the geometry has. c128 states cost nothing here: they go by request, not by token."""
    window = WindowPool(swa_ratio, rules.ring_tokens(geometry))
    counts_padding = rules.counts_padding or formula == "allocated"
    counted = formats if formula == "allocated" else replace(formats, index_k=formula)
    costs = []
    for kind in geometry.pool_kinds:
        layers = len(geometry.layers_with(kind))
        pages = layers * _pages_per_full_token(kind, geometry, window)
        slots = slots_per_page(kind, geometry)
        fill = page_bytes(kind, geometry, formats) - slots * slot_bytes(kind, formats)
        stored, by_formula = (pages * slots * slot_bytes(kind, each) for each in (formats, counted))
        costs.append(PoolCost(kind, layers, by_formula, stored, pages * fill, counts_padding))
    return tuple(costs)


def counted_bytes(costs: Sequence[PoolCost]) -> float:
    """Bytes of one full token over all pools, as the formula counts them."""
    return sum(cost.by_formula_bytes for cost in costs)


def granted_tokens(memory_bytes: int, costs: Sequence[PoolCost], page_tokens: int) -> int:
    """Full tokens that a formula grants for a memory, cut to whole pages."""
    return int(memory_bytes / counted_bytes(costs)) // page_tokens * page_tokens
