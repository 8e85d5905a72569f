"""What a cache is built from: sizes, formats, policies.

Owns: the checked settings of one HiCache. Does not own: where they come from (TOML, command line). Floor 2a.
Source: SGLang's server arguments and their defaults (write_through, kernel, layer_first, threshold 10).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from kernels.errors import ConfigError
from kernels.hicache.allocator import Reuse
from kernels.hicache.geometry import Geometry
from kernels.hicache.paths import TransferPath
from kernels.hicache.remedy import RemedyName, remedy_named
from kernels.hicache.sizing import IndexFormat, KvFormat, PoolFormats

WritePolicy = Literal["write_through", "write_through_selective", "write_back"]
"""When a node is backed up: at its first use, at its second, or only when it is evicted."""


@dataclass(frozen=True, slots=True)
class HiCacheSpec:
    """Settings of one cache. Sizes are in full tokens, cut to whole pages.

    host_tokens: size of the host tier; 0 turns HiCache off, and evicted then means gone.
    load_back_threshold_tokens: a smaller host hit is computed again instead of loaded.
    reuse: order of the device free list (see `allocator`).
    remedy: what is put in where the index-K read has no gate of its own (see `remedy`).
    """

    device_tokens: int
    host_tokens: int
    formats: PoolFormats = field(default_factory=PoolFormats)
    policy: WritePolicy = "write_through"
    path: TransferPath = field(default_factory=lambda: TransferPath("layer_first", "kernel"))
    load_back_threshold_tokens: int = 10
    reuse: Reuse = "lifo"
    remedy: RemedyName = "none"

    def device_pages(self, geometry: Geometry) -> int:
        return self.device_tokens // geometry.page_tokens

    def host_pages(self, geometry: Geometry) -> int:
        return self.host_tokens // geometry.page_tokens

    @property
    def backup_hits(self) -> int:
        """Uses after which a node is backed up; 0 where uses do not matter."""
        return {"write_through": 1, "write_through_selective": 2, "write_back": 0}[self.policy]


def check_spec(spec: HiCacheSpec, geometry: Geometry) -> None:
    """Raises: ConfigError that names the first setting no cache can be built from."""
    choices: tuple[tuple[str, str, tuple[str, ...]], ...] = (
        ("policy", spec.policy, get_args(WritePolicy)),
        ("reuse", spec.reuse, get_args(Reuse)),
        ("index_k", spec.formats.index_k, get_args(IndexFormat)),
        ("kv", spec.formats.kv, get_args(KvFormat)),
    )
    for key, value, allowed in choices:
        if value not in allowed:
            raise ConfigError(f"unknown {key} '{value}'", key=key, value=value, allowed=allowed)
    remedy_named(spec.remedy)
    if spec.device_pages(geometry) < 1:
        raise ConfigError(
            f"device_tokens = {spec.device_tokens} is less than one page of {geometry.page_tokens} tokens",
            key="device_tokens",
            value=spec.device_tokens,
        )
    if spec.host_tokens < 0 or (spec.host_tokens > 0 and spec.host_pages(geometry) < 1):
        raise ConfigError(
            f"host_tokens = {spec.host_tokens} is neither 0 (off) nor a page of {geometry.page_tokens} tokens or more",
            key="host_tokens",
            value=spec.host_tokens,
        )
    if spec.load_back_threshold_tokens < 0:
        raise ConfigError(
            f"load_back_threshold_tokens = {spec.load_back_threshold_tokens} is negative",
            key="load_back_threshold_tokens",
            value=spec.load_back_threshold_tokens,
        )
