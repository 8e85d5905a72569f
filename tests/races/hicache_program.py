"""The incident on the real cache, as small as it gets: one prefix goes to the host tier, comes back, and is read.

Owns: the program; the tiny geometry has one window layer, two c4 layers and one c128 layer. Does not judge.
Floor: tests. Source: DESIGN.md section 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.hicache.access import LayerAccess, LayerRead
from kernels.hicache.controller import HiCache
from kernels.hicache.geometry import preset
from kernels.hicache.lease import Lease
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.variant import Variant
from kernels.races.scheduler.program import Program
from kernels.substrate.contract import Event, HostProgram, Machine, Stream, Until, Write

GEOMETRY = preset("tiny")
DEVICE_PAGES = 2


def incident(variant: Variant) -> Program:
    """Session 0 computes a page, session 1 pushes it out, session 0 comes back and loads it."""

    def program(machine: Machine) -> None:
        stream = machine.stream("forward", device=0)
        tokens = DEVICE_PAGES * GEOMETRY.page_tokens
        spec = HiCacheSpec(tokens, 4 * tokens)
        cache = HiCache(machine, GEOMETRY, spec, [machine.stream("schedule", device=0)], name="prefill")
        access = LayerAccess(GEOMETRY, cache.ranks[0], variant)
        machine.spawn("prefill", _serve(cache, access, stream, machine.event("done")))

    return program


def _serve(cache: HiCache, access: LayerAccess, stream: Stream, done: Event) -> HostProgram:
    versions = 0
    for keys in ((10,), (20, 21), (10, 11)):
        lease = cache.open(keys)
        yield from cache.load_back(lease)
        computed = len(lease.prefix_pages)
        pages = yield from cache.reserve(lease, len(keys) - computed)
        assert pages is not None, cache
        cache.set_consumer((yield from cache.start_loading()))
        _forward(access, stream, lease, computed, versions)
        versions += len(keys) - computed
        stream.record(done)
        yield Until(done)
        cache.insert(lease, keys)
        cache.release(lease)
        # The page is wanted elsewhere only when its backup is over: that order is not what is looked at here.
        if cache.backups is not None:
            yield from cache.backups.drain()


def _forward(access: LayerAccess, stream: Stream, lease: Lease, computed: int, versions: int) -> None:
    old, new = lease.pages[:computed], lease.pages[computed:]
    written = np.arange(versions + 1, versions + 1 + len(new), dtype=np.int64)

    def run(name: str, layer: int, reads: Sequence[LayerRead], writes: Sequence[Write] = ()) -> None:
        stream.launch(
            f"{name}[layer {layer}]",
            duration_ns=100,
            read_ns=50,
            point="compute.layer",
            reads=[part.region for part in reads],
            writes=writes,
            layer=layer,
        )

    for layer in range(GEOMETRY.layer_count):
        access.store_index_k(stream, layer)
        run("project", layer, (), [Write(part.region, written) for part in access.written(layer, new)])
        index_k = access.read_index_k(stream, layer, old)
        if index_k is not None and computed:
            run("indexer", layer, [index_k])
        run("attention", layer, access.read_main(stream, layer, old, old[-1:]))
