"""Geometry presets: which layers a model has, and which pools each layer keeps.

Owns: published layer orders, page sizes, top-k. Does not own: bytes (sizing) or page counts (spec).
Floor 2a. Source: DeepSeek-V4-Flash and V4-Pro layer orders as several public repositories agree on them, without
the trailing draft layer; DeepSeek-V3.2 (DSA) as SGLang's NSA pool stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, get_args

from kernels.errors import ConfigError

LayerKind = Literal["swa", "c4", "c128", "dsa"]
"""swa: sliding window only. c4, c128: window plus latents of 4 or 128 tokens. dsa: full KV, every layer indexed."""

PoolKind = Literal["swa", "kv", "c4", "c128", "index_k", "c4_state", "index_state", "c128_state"]
POOL_KINDS: tuple[PoolKind, ...] = get_args(PoolKind)

POOLS_OF_LAYER: Mapping[LayerKind, tuple[PoolKind, ...]] = MappingProxyType(
    {
        "swa": ("swa",),
        "c4": ("swa", "c4", "index_k", "c4_state", "index_state"),
        "c128": ("swa", "c128", "c128_state"),
        "dsa": ("kv", "index_k"),
    }
)
"""Pools of a layer in the order in which a load copies them: main KV, then index-K, then compressor states."""

WINDOW_POOLS: frozenset[PoolKind] = frozenset({"swa", "c4_state", "index_state", "c128_state"})
"""Pools that a request needs only at its trailing page: the sliding window, and the states that follow it."""

MAIN_POOLS: frozenset[PoolKind] = frozenset({"swa", "kv", "c4", "c128"})
"""Pools that attention reads."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """One model's cache, layer by layer.

    page_tokens: full tokens in one page, the unit of matching, copying and eviction in all pools.
    window_tokens: length of the sliding window; 0 where the model has none.
    index_ratio: tokens behind one index-K entry.
    """

    name: str
    layer_kinds: tuple[LayerKind, ...]
    page_tokens: int
    top_k: int
    window_tokens: int
    index_ratio: int

    @property
    def layer_count(self) -> int:
        return len(self.layer_kinds)

    @property
    def has_window(self) -> bool:
        return self.window_tokens > 0

    @property
    def reach_tokens(self) -> int:
        """Contexts up to this length select everything, so a wrong selection cannot happen below it."""
        return self.top_k * self.index_ratio

    @property
    def pool_kinds(self) -> tuple[PoolKind, ...]:
        """Pools that at least one layer has, in the fixed order of `PoolKind`."""
        present = {kind for layer in self.layer_kinds for kind in POOLS_OF_LAYER[layer]}
        return tuple(kind for kind in POOL_KINDS if kind in present)

    def pools_of(self, layer: int) -> tuple[PoolKind, ...]:
        """Pools of one layer (absolute id), in copy order."""
        return POOLS_OF_LAYER[self.layer_kinds[layer]]

    def layers_with(self, kind: PoolKind) -> tuple[int, ...]:
        """Absolute ids of the layers that keep a pool of this kind, ascending."""
        return tuple(layer for layer in range(self.layer_count) if kind in self.pools_of(layer))


def _alternating(first: LayerKind, second: LayerKind, count: int) -> tuple[LayerKind, ...]:
    return tuple(first if index % 2 == 0 else second for index in range(count))


_PRESETS: Mapping[str, Geometry] = MappingProxyType(
    {
        # Compress ratios [0, 0, 4, 128, ..., 4, 128, 4]: 2 window-only layers, 21 c4, 20 c128.
        "deepseek-v4-flash": Geometry(
            name="deepseek-v4-flash",
            layer_kinds=("swa", "swa", *_alternating("c4", "c128", 41)),
            page_tokens=256,
            top_k=512,
            window_tokens=128,
            index_ratio=4,
        ),
        # Compress ratios [128, 128, 4, 128, ..., 4]: 31 c128, 30 c4.
        "deepseek-v4-pro": Geometry(
            name="deepseek-v4-pro",
            layer_kinds=("c128", "c128", *_alternating("c4", "c128", 59)),
            page_tokens=256,
            top_k=1024,
            window_tokens=128,
            index_ratio=4,
        ),
        "dsa": Geometry(
            name="dsa", layer_kinds=("dsa",) * 61, page_tokens=64, top_k=2048, window_tokens=0, index_ratio=1
        ),
        # One layer of each kind and a second c4 layer, for tests; the smallest page that holds a c128 entry twice.
        "tiny": Geometry(
            name="tiny",
            layer_kinds=("swa", "c4", "c128", "c4"),
            page_tokens=256,
            top_k=8,
            window_tokens=128,
            index_ratio=4,
        ),
    }
)


def preset_names() -> tuple[str, ...]:
    return tuple(_PRESETS)


def preset(name: str) -> Geometry:
    """The geometry of that name. Raises: ConfigError for an unknown name."""
    geometry = _PRESETS.get(name)
    if geometry is None:
        raise ConfigError(f"unknown geometry '{name}'", key="geometry", value=name, allowed=preset_names())
    return geometry


def paged(geometry: Geometry, page_tokens: int) -> Geometry:
    """The same model with pages of another size.

    Raises: ConfigError where a page would not hold whole entries of every pool.
    """
    unit = 128 if geometry.has_window else geometry.index_ratio
    if page_tokens < 1 or page_tokens % unit:
        what = f"pages of {page_tokens} tokens: {geometry.name} needs a multiple of {unit}"
        raise ConfigError(what, key="page_tokens", value=page_tokens)
    return replace(geometry, page_tokens=page_tokens)
