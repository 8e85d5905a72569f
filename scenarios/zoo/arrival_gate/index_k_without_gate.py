"""B01: the incident on the real cache: main KV accessors wait for the layer, the index-K accessor does not.

Owns: the specimen. Floor 4. Source: SGLang PR 22811; DESIGN.md section 1. Wrong fixes of this one: docs/remedies.md.
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
from kernels.races.naming.codes import Code
from kernels.substrate.contract import Event, HostProgram, KernelBody, Machine, Stream, Until, Write
from scenarios.zoo.parts import replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected

GEOMETRY = preset("tiny")


def build(machine: Machine, switch: str) -> None:
    """Session 10 computes a page, session 20 pushes it out to the host, session 10 comes back and loads it."""
    forward = machine.stream("forward", device=0)
    tokens = 2 * GEOMETRY.page_tokens
    schedule = machine.stream("schedule", device=0)
    cache = HiCache(machine, GEOMETRY, HiCacheSpec(tokens, 4 * tokens), [schedule], name="prefill")
    access = LayerAccess(GEOMETRY, cache.ranks[0], Variant(gate_index_k=switch == FIXED))
    machine.spawn("prefill", _serve(cache, access, forward, machine.event("done")))


def _serve(cache: HiCache, access: LayerAccess, forward: Stream, done: Event) -> HostProgram:
    versions = 0
    for keys in ((10,), (20, 21), (10, 11)):
        lease = cache.open(keys)
        yield from cache.load_back(lease)
        computed = len(lease.prefix_pages)
        pages = yield from cache.reserve(lease, len(keys) - computed)
        assert pages is not None, cache
        cache.set_consumer((yield from cache.start_loading()))
        _layers(access, forward, lease, computed, versions)
        versions += len(keys) - computed
        forward.record(done)
        yield Until(done)
        cache.insert(lease, keys)
        cache.release(lease)
        if cache.backups is not None:
            yield from cache.backups.drain()


def _layers(access: LayerAccess, forward: Stream, lease: Lease, computed: int, versions: int) -> None:
    old, new = lease.pages[:computed], lease.pages[computed:]
    written = np.arange(versions + 1, versions + 1 + len(new), dtype=np.int64)

    def run(
        what: str,
        layer: int,
        reads: Sequence[LayerRead],
        writes: Sequence[Write] = (),
        body: KernelBody | None = None,
    ) -> None:
        regions = [part.region for part in reads]
        forward.launch(f"{what}[layer {layer}]", duration_ns=9, point="c", reads=regions, writes=writes, body=body)

    for layer in range(GEOMETRY.layer_count):
        access.store_index_k(forward, layer)
        run("project", layer, (), [Write(part.region, written) for part in access.written(layer, new)])
        index_k = access.read_index_k(forward, layer, old)
        if index_k is not None and computed:
            run("indexer", layer, [index_k], body=replies(1))
        run("attention", layer, access.read_main(forward, layer, old, old[-1:]))


SPECIMEN = Specimen(
    name="index_k_without_gate",
    rows=("B01",),
    source="SGLang PR 22811",
    race_class=RaceClass.ARRIVAL_GATE,
    symptom="S1",
    missing="H2D write of layer L's index-K pages @load -> top-k read of layer L's index-K @forward",
    trigger="host-tier hits under concurrency; bf16 index-K is twice as long under way",
    expected=expected(Code.LATE_WAIT, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
