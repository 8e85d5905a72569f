"""A scenario's cache as a program to explore: the same code and the same defect, as small as it gets.

Owns: the shape of the workload, and the host program that drives the cache through it. Does not own: the cache
(`kernels.hicache`), the kernels of a layer (`kernels.engine.forward`), exploring (`kernels.races`). Floor 5.

One session computes pages, others push them out to the host tier, the first one comes back, loads them and reads them:
the shortest way on which a read can meet a load. Streams, pools and labels have the names that they have in a served
run, so that a race of the one has the signature of a race of the other. There is one rank, whatever the scenario says:
ranks do the same in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.config import Scenario
from harness.races.revision import machine_revision
from harness.simulation.assembly import cost_model, pair_spec
from kernels.engine.batch import Batch
from kernels.engine.forward import RankForward
from kernels.hicache.access import LayerAccess
from kernels.hicache.controller import HiCache
from kernels.hicache.geometry import Geometry, LayerKind
from kernels.hicache.lease import Lease
from kernels.hicache.spec import HiCacheSpec
from kernels.substrate.contract import Event, HostProgram, Machine, PageIds, Stream, Until

INDEXED: frozenset[LayerKind] = frozenset({"c4", "dsa"})


@dataclass(frozen=True, slots=True)
class Shape:
    """How much is left of the workload.

    sessions: the first one comes back for another turn once the others have had theirs. layers: the kinds of the
    model's layers, in order. pages: that each session computes in its first turn. turns: of the first session; in front
    of each but the first, all others have one.
    """

    sessions: int
    layers: tuple[LayerKind, ...]
    pages: int = 1
    turns: int = 2

    @property
    def pages_last(self) -> int:
        """What the first session holds in its last turn: each turn computes one page more."""
        return self.pages + self.turns - 1

    def __str__(self) -> str:
        counts = ((self.sessions, "session"), (len(self.layers), "layer"), (self.pages, "page"))
        text = " x ".join(f"{count} {noun}{'s' if count > 1 else ''}" for count, noun in counts)
        return text if self.turns == 2 else f"{text} x {self.turns} turn{'s' if self.turns > 1 else ''}"


def small_layers(geometry: Geometry) -> tuple[LayerKind, ...]:
    """At most two layers of each indexed kind and one of every other, in the model's order."""
    kept: list[LayerKind] = []
    for kind in geometry.layer_kinds:
        if kept.count(kind) < (2 if kind in INDEXED else 1):
            kept.append(kind)
    return tuple(kept)


class CacheProgram:
    """Builds the cache on a machine, and one host thread that serves the workload."""

    def __init__(self, scenario: Scenario, shape: Shape) -> None:
        self.name = f"{scenario.name} ({shape})"
        self.shape = shape
        # A program's hash covers what it holds in plain values: these are what its steps follow from.
        self.facts = (machine_revision(), *_facts(scenario))
        self._scenario = scenario

    def __call__(self, machine: Machine) -> None:
        spec, shape = pair_spec(self._scenario), self.shape
        geometry = replace(spec.geometry, layer_kinds=shape.layers)
        stream = machine.stream("prefill.r0.forward", device=0)
        cache = HiCache(machine, geometry, _small_cache(spec.cache, geometry, shape), [stream], name="prefill")
        access = LayerAccess(geometry, cache.ranks[0], spec.variant)
        all_reduce = [machine.event("all_reduce.r0")]
        forward = RankForward(machine, access, stream, cost_model(self._scenario), spec.share, all_reduce)
        machine.spawn("prefill", _serve(cache, forward, stream, machine.event("prefill.forward_done"), shape))

    def __repr__(self) -> str:
        return f"CacheProgram({self.name})"


def _facts(scenario: Scenario) -> tuple[str, ...]:
    """The settings that decide what is issued. Times do not: there is no time in a schedule."""
    cache = scenario.cache
    pools = ",".join(sorted(cache.ungated))
    switches = (cache.hicache, cache.gate_index_k, cache.index_k_store, pools, cache.remedy)
    return tuple(map(str, (cache.preset, cache.index_k, *switches, cache.write_policy, cache.layout, cache.io)))


def _small_cache(spec: HiCacheSpec, geometry: Geometry, shape: Shape) -> HiCacheSpec:
    """The device pool holds one session's last turn, and no page more: whoever comes next pushes it out."""
    tokens = shape.pages_last * geometry.page_tokens
    return replace(
        spec,
        device_tokens=tokens,
        host_tokens=shape.sessions * max(1, shape.turns - 1) * tokens if spec.host_tokens else 0,
        load_back_threshold_tokens=min(spec.load_back_threshold_tokens, geometry.page_tokens),
    )


def _serve(cache: HiCache, forward: RankForward, stream: Stream, done: Event, shape: Shape) -> HostProgram:
    versions = 0
    for keys in _turns(shape):
        if not cache.loads.is_idle:
            # A load holds its pages until it is acknowledged.
            ring = cache.ranks[0].ring
            yield Until(ring.finish_event(ring.producer))
            yield from cache.loads.poll()
        lease = cache.open(keys)
        yield from cache.load_back(lease)
        computed = len(lease.prefix_pages)
        pages = yield from cache.reserve(lease, len(keys) - computed)
        assert pages is not None, f"no room for {len(keys) - computed} pages: {cache}"
        cache.set_consumer((yield from cache.start_loading()))
        yield from forward.issue(batch_of([(lease, computed)], versions), 0)
        versions += len(keys) - computed
        stream.record(done)
        yield Until(done)
        cache.insert(lease, keys)
        cache.release(lease)
        # A page is wanted elsewhere only when its backup is over: that order is not what is looked at here.
        if cache.backups is not None:
            yield from cache.backups.drain()


def _turns(shape: Shape) -> list[tuple[int, ...]]:
    """The page keys of each turn. The others fill the whole pool, so that the first session must be loaded back."""
    turns = [tuple(range(shape.pages))]
    for turn in range(1, shape.turns):
        others = range(turn * shape.sessions, (turn + 1) * shape.sessions - 1)
        turns += [tuple(range(1_000 * other, 1_000 * other + shape.pages_last)) for other in others]
        turns.append(tuple(range(shape.pages + turn)))
    return turns


def batch_of(parts: Sequence[tuple[Lease, int]], versions: int) -> Batch:
    """One forward over some leases, each with the number of pages that are computed already; all others are new.

    versions: how many pages have been computed before: new ones are numbered from there.
    """
    old = [lease.pages[:computed] for lease, computed in parts]
    new = np.concatenate([lease.pages[computed:] for lease, computed in parts])
    trailing = [pages[-1:] for pages in old]
    return Batch(
        extends=(),
        read_pages=np.concatenate((*old, new)),
        context_spans=_spans(old),
        window_pages=np.concatenate((*trailing, new)),
        window_spans=_spans(trailing),
        new_pages=new,
        versions=np.arange(versions + 1, versions + 1 + len(new), dtype=np.int64),
    )


def _spans(parts: Sequence[PageIds]) -> tuple[slice, ...]:
    ends = np.cumsum([len(part) for part in parts]).tolist()
    return tuple(slice(end - len(part), end) for part, end in zip(parts, ends, strict=True))
