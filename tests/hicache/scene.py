"""A small engine around a cache on the fake machine, and interleavings written as text.

Owns: the way of a request through the cache, as the prefill engine will go it, with what every read saw. Does not own:
expectations. `Scene.play("L0 R0 | L1 R1")` lets the load stream (L) run through a layer, or the reading forward (R):
a stream that must wait stays where it is, so a gate shows as a reader that does not get ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernels.hicache.access import LayerAccess, LayerRead
from kernels.hicache.controller import HiCache
from kernels.hicache.geometry import Geometry, PoolKind, preset
from kernels.hicache.invariants import check
from kernels.hicache.lease import Lease
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.variant import Variant
from kernels.substrate.contract import PageIds, PageView, Write
from tests.hicache.fake_machine import FakeEvent, FakeMachine, FakeStream
from tests.hicache.page_trie import chained

TINY = preset("tiny")
CORRECT = Variant()


def keys_of(session: int, page_count: int) -> tuple[int, ...]:
    """Keys of a session's private prefix."""
    return chained([session, *([0] * (page_count - 1))])


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """One pool's read in one layer. prefix: keys of the pages before the new ones. versions: [n], -1 where torn."""

    prefix: tuple[int, ...]
    rank: int
    layer: int
    kind: PoolKind
    versions: PageIds
    stale_pages: int
    torn_pages: int


class Scene:
    """One cache, `rank_count` forward streams, and a counter that gives every written page its version."""

    def __init__(
        self,
        spec: HiCacheSpec | None = None,
        *,
        geometry: Geometry = TINY,
        device_pages: int = 8,
        host_pages: int = 32,
        rank_count: int = 1,
        seed: int = 0,
    ) -> None:
        if spec is None:
            spec = HiCacheSpec(device_pages * geometry.page_tokens, host_pages * geometry.page_tokens)
        self.machine = FakeMachine(seed)
        self.geometry = geometry
        self.forwards = [self.machine.stream(f"forward{rank}", device=rank) for rank in range(rank_count)]
        # As in SGLang, start events are recorded on a schedule stream of its own; it never holds anything up here.
        self.schedules = [self.machine.stream(f"schedule{rank}", device=rank) for rank in range(rank_count)]
        self.cache = HiCache(self.machine, geometry, spec, self.schedules, name="prefill")
        self.seen: list[Seen] = []
        self.key_of: dict[int, int] = {}
        self._marks: dict[tuple[str, int], FakeEvent] = {}

    def admit(self, keys: Sequence[int]) -> Lease | None:
        """Open, load back, reserve; None (and nothing held) where there is no room."""
        lease = self.cache.open(keys)
        check(self.cache)
        self.machine.run(self.cache.load_back(lease))
        check(self.cache)
        pages = self.machine.run(self.cache.reserve(lease, len(keys) - len(lease.prefix_pages)))
        check(self.cache)
        if pages is None:
            self.cache.release(lease)
            check(self.cache)
            return None
        return lease

    def start(
        self, lease: Lease, keys: Sequence[int], variant: Variant = CORRECT, *, computed: int | None = None
    ) -> list[FakeEvent]:
        """Start queued loads and issue the forward of one request; returns one event per rank, at its end.

        computed: pages of the lease that are there already; its prefix, unless an earlier chunk left private ones.
        """
        if computed is None:
            computed = len(lease.prefix_pages)
        self.cache.set_consumer(self.machine.run(self.cache.start_loading()))
        check(self.cache)
        for schedule in self.schedules:
            while schedule.step():
                pass
        new_keys = keys[computed:]
        versions = np.arange(len(self.key_of) + 1, len(self.key_of) + 1 + len(new_keys), dtype=np.int64)
        self.key_of.update(zip(versions.tolist(), new_keys, strict=True))
        done = [FakeEvent("done") for _ in self.forwards]
        for rank, stream in enumerate(self.forwards):
            access = LayerAccess(self.geometry, self.cache.ranks[rank], variant)
            self._forward(access, stream, rank, lease.pages, tuple(keys[:computed]), versions)
            stream.record(done[rank])
        return done

    def _forward(
        self,
        access: LayerAccess,
        stream: FakeStream,
        rank: int,
        table: PageIds,
        prefix: tuple[int, ...],
        versions: PageIds,
    ) -> None:
        pages, new = table[: len(prefix)], table[len(prefix) :]
        trailing = pages[-1:]

        def read(layer: int, reads: Sequence[LayerRead]) -> None:
            def body(views: Sequence[PageView]) -> None:
                for part, view in zip(reads, views, strict=True):
                    self.seen.append(_seen(prefix, rank, layer, part.kind, view))

            regions = [part.region for part in reads]
            stream.launch(f"read[layer {layer}]", duration_ns=1, point="compute.layer", reads=regions, body=body)

        for layer in range(self.geometry.layer_count):
            read(layer, access.early_reads(stream, layer, pages, trailing))
            access.store_index_k(stream, layer)
            index = access.read_index_k(stream, layer, pages)
            if index is not None and len(pages) > 0:
                read(layer, [index])
            read(layer, access.read_main(stream, layer, pages, trailing))
            read(layer, access.read_states(stream, layer, trailing))
            if len(new) > 0:
                writes = [Write(part.region, versions) for part in access.written(layer, new)]
                stream.launch(f"write[layer {layer}]", duration_ns=1, point="compute.layer", writes=writes)
            mark = FakeEvent(f"read {layer}")
            stream.record(mark)
            self._marks[stream.name, layer] = mark

    def finish(self, lease: Lease, keys: Sequence[int], done: Sequence[FakeEvent]) -> None:
        """Wait for the forward, insert, release, acknowledge what is done."""
        while any(event.completed < event.issued for event in done):
            assert self.machine.step(), "the forward never ends"
        self.cache.insert(lease, keys)
        check(self.cache)
        self.cache.release(lease)
        check(self.cache)
        self.machine.run(self.cache.poll())
        check(self.cache)

    def request(self, keys: Sequence[int], variant: Variant = CORRECT) -> Lease:
        """A whole request, alone, to its end."""
        lease = self.admit(keys)
        assert lease is not None, self.cache
        self.finish(lease, keys, self.start(lease, keys, variant))
        return lease

    def settle(self) -> None:
        """Let everything in flight finish and be acknowledged."""
        self.machine.drain()
        self.machine.run(self.cache.poll())
        check(self.cache)

    def play(self, interleaving: str) -> None:
        """Advance streams as the text says: `L2`, load through layer 2; `R2`, read through layer 2; `L2~`, load until
        a page of layer 2's index-K is torn. A second rank's streams are `l` and `r`."""
        for word in interleaving.replace("|", " ").split():
            rank = 0 if word[0].isupper() else 1
            layer = int(word[1:].rstrip("~"))
            if word[0] in "Ll":
                self._load_through(rank, layer, is_torn=word.endswith("~"))
            else:
                mark = self._marks[self.forwards[rank].name, layer]
                while mark.completed < mark.issued and self.forwards[rank].step():
                    pass

    def _load_through(self, rank: int, layer: int, *, is_torn: bool) -> None:
        load = self.machine.streams[f"prefill.r{rank}.load"]
        ring = self.cache.ranks[rank].ring
        event = ring.layer_event(ring.producer, layer)
        assert isinstance(event, FakeEvent)
        region = self.cache.ranks[rank].device["index_k"].all_layers(np.arange(self.cache.device.capacity_pages))
        while event.completed < event.issued and load.step():
            if is_torn and bool((self.machine.landed(region)[_index_layer(self.geometry, layer)] < 0).any()):
                return

    def stale(self, kind: PoolKind) -> dict[int, int]:
        """Stale pages by layer of one pool's reads, layers without any left out; summed over ranks."""
        pages: dict[int, int] = {}
        for seen in self.seen:
            if seen.kind == kind and seen.stale_pages > 0:
                pages[seen.layer] = pages.get(seen.layer, 0) + seen.stale_pages
        return pages


def with_load_queued(scene: Scene, variant: Variant = CORRECT) -> tuple[Lease, tuple[int, ...]]:
    """Session 0's four pages were computed, backed up, evicted and overwritten; now it is back, its load queued."""
    keys, others = keys_of(0, 5), keys_of(1, 8)
    scene.request(keys[:4], variant)
    scene.settle()
    scene.request(others, variant)
    scene.settle()
    scene.seen.clear()
    lease = scene.admit(keys)
    assert lease is not None
    assert lease.loaded_pages == 4, lease
    return lease, keys


def _index_layer(geometry: Geometry, layer: int) -> int:
    return geometry.layers_with("index_k").index(layer)


def _seen(prefix: tuple[int, ...], rank: int, layer: int, kind: PoolKind, view: PageView) -> Seen:
    is_torn = view.head[0] != view.tail[0]
    return Seen(
        prefix=prefix,
        rank=rank,
        layer=layer,
        kind=kind,
        versions=np.where(is_torn, -1, view.head[0]),
        stale_pages=int(view.stale.sum()),
        torn_pages=int(is_torn.sum()),
    )
