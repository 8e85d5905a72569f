"""Variants: named switches that remove an order the correct cache has.

Owns: the switches and their meaning. Does not own: what they switch (access). Floor 2a.
Source: SGLang PR 22811 (the missing gate), 0.5.10.post1 (the fused store that hides it); `ungated` is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from kernels.errors import ConfigError
from kernels.hicache.geometry import POOL_KINDS, PoolKind

IndexStore = Literal["fused", "fallback"]


@dataclass(frozen=True, slots=True)
class Variant:
    """One set of switches; the defaults are the correct cache.

    gate_index_k: whether the index-K read waits for its layer's load. False is the incident's defect.
    index_k_store: how a layer's new index-K rows are stored, just before the index-K read on the same stream.
        `fused` fetches the buffer through the gated getter, so the stream waits and a missing gate behind it is
        masked; `fallback` writes without a wait.
    ungated: pools that are read at the very start of a layer, before any wait of that layer: the same slip for
        whichever pool is named. At its usual place a pool could not slip alone, because all of a layer's pools
        share one event and an earlier gated read on the stream would wait for it.
    """

    gate_index_k: bool = True
    index_k_store: IndexStore = "fallback"
    ungated: frozenset[PoolKind] = frozenset()


def check_variant(variant: Variant) -> None:
    """Raises: ConfigError for a pool or store that does not exist."""
    for kind in sorted(variant.ungated):
        if kind not in POOL_KINDS:
            raise ConfigError(f"unknown pool '{kind}'", key="ungated", value=kind, allowed=POOL_KINDS)
    if variant.index_k_store not in get_args(IndexStore):
        raise ConfigError(
            f"unknown index-K store '{variant.index_k_store}'",
            key="index_k_store",
            value=variant.index_k_store,
            allowed=get_args(IndexStore),
        )
