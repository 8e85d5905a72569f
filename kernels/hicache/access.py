"""The one way to read a layer: every read passes here, and takes the gate unless a named switch says otherwise.

Owns: which reads of a layer wait, and in which order waits and reads reach the stream. Does not own: kernels, page
tables. Floor 2a. Source: SGLang's pool getters (get_index_k_*, get_key_buffer, wait_layer_transfer), with the rule
turned round: there each getter must remember the gate, here only `Variant` can leave it out.

A forward calls, layer by layer and on one stream:
    early_reads       the pools that `Variant.ungated` names: read at once, without a wait (usually none)
    store_index_k     before the kernel that stores the new tokens' index-K rows
    read_index_keys   before a kernel that fetches keys alone, where a remedy gives index-K two accessors (usually none)
    read_index_k      before the kernel that scores and selects
    index_k_was_read  behind it
    read_main         before attention
    written           for the kernel that writes the new pages
Each enqueues at most a wait and returns the regions that the kernel launched next must declare. The wait is taken
when a method is called, so a kernel must be launched before the next method is.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernels.errors import ConfigError
from kernels.hicache.geometry import MAIN_POOLS, WINDOW_POOLS, Geometry, PoolKind
from kernels.hicache.ranks import Rank
from kernels.hicache.remedy import IndexWait, Remedy
from kernels.hicache.variant import Variant, check_variant
from kernels.substrate.contract import PageIds, Region, Stream


@dataclass(frozen=True, slots=True, eq=False)
class LayerRead:
    """One pool's part in a layer's read."""

    kind: PoolKind
    region: Region


class LayerAccess:
    """Reads and writes of one rank's device pools. Layers are absolute ids.

    In all methods `pages` is [n] int64, the pages of the batch's contexts, and `trailing` is [m] int64, the page in
    front of each context's new tokens (m <= n), from which the sliding window and the states are read.
    """

    def __init__(self, geometry: Geometry, rank: Rank, variant: Variant) -> None:
        """Raises: ConfigError for switches that do not exist, or that contradict each other."""
        check_variant(variant)
        remedy = rank.ring.remedy
        if variant.gate_index_k and remedy != Remedy():
            what = "a remedy stands in for the index-K read's own gate, and that is there: set gate_index_k = false"
            raise ConfigError(what, key="gate_index_k", value=variant.gate_index_k)
        self.geometry = geometry
        self.variant = variant
        self.gate = rank.gate
        self._pools = rank.device
        self._other_stream = rank.host.backup if rank.host is not None else rank.schedule
        self._remedy = remedy

    def early_reads(self, stream: Stream, layer: int, pages: PageIds, trailing: PageIds) -> tuple[LayerRead, ...]:
        """Pools of this layer that are read before any wait; behind one where there is one read path for all."""
        reads = self._reads(layer, self.variant.ungated, pages, trailing)
        if reads and self._wait == "every_read":
            self.gate.wait(stream, layer)
        return reads

    def store_index_k(self, stream: Stream, layer: int) -> None:
        """Get ready to store new index-K rows. Effect: the fused store waits for the layer, the fallback does not."""
        if self.has_index_k(layer) and self.variant.index_k_store == "fused":
            self.gate.wait(stream, layer)

    def read_index_keys(self, layer: int, pages: PageIds) -> LayerRead | None:
        """The first of two accessors, which has no gate; None where `read_index_k` fetches everything."""
        if self._wait != "second_accessor" or not self.has_index_k(layer):
            return None
        return LayerRead("index_k", self._pools["index_k"].region(layer, pages))

    def read_index_k(self, stream: Stream, layer: int, pages: PageIds) -> LayerRead | None:
        """The index-K rows to score; None where the layer has none (or was read early)."""
        if not self.has_index_k(layer) or "index_k" in self.variant.ungated:
            return None
        if self._wait in ("accessor", "every_read", "second_accessor"):
            self.gate.wait_index_k(stream, layer)
        elif self._wait == "layer_before" and layer > 0:
            self.gate.wait_index_k(stream, layer - 1)
        elif self._wait == "another_stream":
            self.gate.wait_index_k(self._other_stream, layer)
        return LayerRead("index_k", self._pools["index_k"].region(layer, pages))

    def index_k_was_read(self, stream: Stream, layer: int) -> None:
        """Called behind the kernel that `read_index_k` was for. Effect: none, but for a gate that comes too late."""
        if self._wait == "behind_the_read":
            self.gate.wait_index_k(stream, layer)

    def read_main(self, stream: Stream, layer: int, pages: PageIds, trailing: PageIds) -> tuple[LayerRead, ...]:
        """What attention reads: window, latents, full KV. Pools that were read early are left out."""
        self.gate.wait(stream, layer)
        return self._reads(layer, MAIN_POOLS - self.variant.ungated, pages, trailing)

    def read_states(self, stream: Stream, layer: int, trailing: PageIds) -> tuple[LayerRead, ...]:
        """The compressor states. Gated, so that a call before `read_index_k` masks a missing gate there."""
        self.gate.wait(stream, layer)
        states = WINDOW_POOLS - MAIN_POOLS - self.variant.ungated
        return self._reads(layer, states, trailing, trailing)

    def written(self, layer: int, pages: PageIds) -> tuple[LayerRead, ...]:
        """All pools of a layer, for the write of new pages. Stores never wait."""
        return self._reads(layer, frozenset(self.geometry.pools_of(layer)), pages, pages)

    def region(self, kind: PoolKind, layer: int, pages: PageIds) -> Region:
        """One pool's pages of one layer, for looking at the ledger; a kernel's reads come from the methods above."""
        return self._pools[kind].region(layer, pages)

    @property
    def _wait(self) -> IndexWait:
        return "accessor" if self.variant.gate_index_k else self._remedy.wait

    def has_index_k(self, layer: int) -> bool:
        return "index_k" in self.geometry.pools_of(layer)

    def _reads(
        self, layer: int, kinds: frozenset[PoolKind], pages: PageIds, trailing: PageIds
    ) -> tuple[LayerRead, ...]:
        __tracebackhide__ = True  # Call sites name the method above that was asked.
        reads: list[LayerRead] = []
        for kind in self.geometry.pools_of(layer):
            wanted = trailing if kind in WINDOW_POOLS else pages
            if kind in kinds and len(wanted) > 0:
                reads.append(LayerRead(kind, self._pools[kind].region(layer, wanted)))
        return tuple(reads)

    def __repr__(self) -> str:
        return f"LayerAccess({self.geometry.name}, {self.variant}, {self.gate})"
