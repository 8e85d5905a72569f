"""How a version of SGLang sizes its pools, where versions differ.

Owns: the two known sets of rules by the version that they were read from. Does not own: formulas of index-K (`costs`).
Floor 2a. Source: SGLang 0.5.16 and 0.5.23, DSV4PoolConfigurator (`run.py audit --sglang` reads them from the source).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from kernels.hicache.geometry import Geometry

RulesName = Literal["0.5.16", "0.5.23"]
RULES_NAMES: tuple[RulesName, ...] = get_args(RulesName)


@dataclass(frozen=True, slots=True)
class Rules:
    """counts_padding: whether the formula counts what fills latent pages up.
    has_ring_per_window: whether c4 states have a ring for each 128 tokens of the window pool, or one for each page."""

    name: RulesName
    counts_padding: bool
    has_ring_per_window: bool

    def ring_tokens(self, geometry: Geometry) -> int:
        """Window tokens behind one ring of c4 states, as they are counted and allocated."""
        return min(128, geometry.page_tokens) if self.has_ring_per_window else geometry.page_tokens


RULES: Mapping[RulesName, Rules] = MappingProxyType(
    {
        "0.5.16": Rules("0.5.16", counts_padding=False, has_ring_per_window=True),
        "0.5.23": Rules("0.5.23", counts_padding=True, has_ring_per_window=False),
    }
)
OLDER = RULES["0.5.16"]


@dataclass(frozen=True, slots=True)
class WindowPool:
    """ratio: window slots granted per full token (SGLang's default for DeepSeek-V4 is 0.1).
    ring_tokens: window tokens behind one ring of c4 states."""

    ratio: float
    ring_tokens: int
