"""The cache on the virtual machine, with the true Flash geometry: the incident, its fix, and its mask, in virtual time.

A delay at `h2d.index_k` holds that pool's copies back. What a read saw is the machine's own word (`PageView.stale`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from kernels.hicache.access import LayerAccess, LayerRead
from kernels.hicache.controller import HiCache
from kernels.hicache.geometry import Geometry, preset
from kernels.hicache.invariants import check
from kernels.hicache.lease import Lease
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.transfers import delay_points
from kernels.hicache.variant import Variant
from kernels.substrate.contract import HostProgram, PageView, Sleep, Until, Write
from kernels.substrate.cost_file import load_cost_model
from kernels.substrate.delays import parse_delay
from kernels.substrate.virtual.machine import VirtualMachine
from tests.hicache.scene import keys_of

FLASH = preset("deepseek-v4-flash")
LAYER_NS = 50_000
PREFIX_PAGES = 20


class Incident:
    """Session 0 computes a prefix, session 1 pushes it out, session 0 comes back and loads it."""

    def __init__(self, variant: Variant, *, delay: str, geometry: Geometry = FLASH, rank_count: int = 1) -> None:
        points = (*delay_points(geometry), "compute.layer")
        delays = [parse_delay(delay, points)]
        self.machine = VirtualMachine(load_cost_model(), seed=1, delays=delays, known_points=points)
        self.forwards = [self.machine.stream(f"forward{rank}", device=rank) for rank in range(rank_count)]
        schedules = [self.machine.stream(f"schedule{rank}", device=rank) for rank in range(rank_count)]
        tokens = 24 * geometry.page_tokens
        self.cache = HiCache(self.machine, geometry, HiCacheSpec(tokens, 4 * tokens), schedules, name="prefill")
        self.variant = variant
        self.version = 0
        self.stale: Counter[str] = Counter()
        self.reads: Counter[str] = Counter()
        self.machine.spawn("prefill", self._program())
        self.machine.run()
        assert self.machine.blocked() == []

    def _program(self) -> HostProgram:
        prefix = keys_of(0, PREFIX_PAGES)
        for keys in (prefix, keys_of(1, 24), (*prefix, 999)):
            lease = self.cache.open(keys)
            yield from self.cache.load_back(lease)
            computed = len(lease.prefix_pages)
            pages = yield from self.cache.reserve(lease, len(keys) - computed)
            assert pages is not None, self.cache
            self.cache.set_consumer((yield from self.cache.start_loading()))
            done = [self.machine.event(f"done{rank}") for rank in range(len(self.forwards))]
            for rank, stream in enumerate(self.forwards):
                self._forward(rank, lease, computed)
                stream.record(done[rank])
            for event in done:
                yield Until(event)
            self.cache.insert(lease, keys)
            check(self.cache)
            self.cache.release(lease)
            while not self.cache.is_idle:
                yield Sleep(100_000)
                yield from self.cache.poll()
            check(self.cache)

    def _forward(self, rank: int, lease: Lease, computed: int) -> None:
        access = LayerAccess(self.cache.geometry, self.cache.ranks[rank], self.variant)
        stream = self.forwards[rank]
        pages, new = lease.pages[:computed], lease.pages[computed:]
        versions = np.arange(self.version + 1, self.version + 1 + len(new), dtype=np.int64)
        self.version += len(new)

        def run(layer: int, reads: Sequence[LayerRead], writes: Sequence[Write] = ()) -> None:
            def body(views: Sequence[PageView]) -> None:
                for part, view in zip(reads, views, strict=True):
                    self.reads[part.kind] += view.stale.size
                    self.stale[part.kind] += int(view.stale.sum())

            stream.launch(
                f"layer {layer}",
                duration_ns=LAYER_NS // 2,
                read_ns=LAYER_NS // 4,
                point="compute.layer",
                reads=[part.region for part in reads],
                writes=writes,
                body=body,
                layer=layer,
            )

        for layer in range(self.cache.geometry.layer_count):
            early = access.early_reads(stream, layer, pages, pages[-1:])
            if early:
                run(layer, early)
            access.store_index_k(stream, layer)
            index = access.read_index_k(stream, layer, pages)
            if index is not None and computed > 0:
                run(layer, [index])
            main = access.read_main(stream, layer, pages, pages[-1:])
            run(layer, main, [Write(part.region, versions) for part in access.written(layer, new)])


LATE = "h2d.index_k=constant:300us"


def test_a_missing_gate_reads_index_k_before_it_has_arrived() -> None:
    incident = Incident(Variant(gate_index_k=False), delay=LATE)
    assert incident.cache.statistics.loaded_pages == PREFIX_PAGES
    assert incident.stale["index_k"] >= 15 * PREFIX_PAGES, "the first layers have a head start"
    assert [kind for kind, pages in incident.stale.items() if pages] == ["index_k"]
    assert incident.cache.statistics.at_rest_mismatches == 0


@pytest.mark.parametrize("variant", [Variant(), Variant(gate_index_k=False, index_k_store="fused")])
def test_the_gate_or_the_fused_store_leaves_nothing_stale(variant: Variant) -> None:
    incident = Incident(variant, delay=LATE)
    assert incident.cache.statistics.loaded_pages == PREFIX_PAGES
    assert incident.reads["index_k"] == 21 * PREFIX_PAGES
    assert sum(incident.stale.values()) == 0


def test_another_pool_slips_where_its_read_is_made_early() -> None:
    incident = Incident(Variant(ungated=frozenset({"c128"})), delay="h2d.c128=constant:300us")
    assert incident.stale["c128"] > 0
    assert sum(incident.stale.values()) == incident.stale["c128"]


def test_one_late_rank_is_enough() -> None:
    incident = Incident(Variant(gate_index_k=False), delay=LATE, rank_count=2)
    assert incident.stale["index_k"] > 0
    assert sum(Incident(Variant(), delay=LATE, rank_count=2).stale.values()) == 0


def test_dsa_slips_too() -> None:
    geometry = replace(preset("dsa"), layer_kinds=("dsa",) * 8)
    bare = Incident(Variant(gate_index_k=False), delay=LATE, geometry=geometry)
    assert bare.stale["index_k"] >= 4 * PREFIX_PAGES
    assert bare.stale["kv"] == 0
    assert sum(Incident(Variant(), delay=LATE, geometry=geometry).stale.values()) == 0
