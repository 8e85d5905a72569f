"""Reading a pool some microseconds too early: a small program on the virtual machine that loads one history back.

Owns: the program and what its reads saw, in versions. Does not own: what the versions mean (`cases`), copies and their
order (`kernels.hicache.transfers`), or the cost of a copy (the cost file). Floor 5.

One session's history lies in the host tier, and its device pages hold what another session computed there since. The
load brings it back layer by layer, and on other streams a reader looks at each pool of each layer some microseconds
before *that pool's own copy of that layer* ends. The read is one instant, and there is no jitter, so a delay means
exactly what it says. Versions 1..n are the history's pages, n+1..2n the previous owner's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.hicache.geometry import WINDOW_POOLS, Geometry, PoolKind
from kernels.hicache.paths import TransferPath
from kernels.hicache.ranks import Rank, build_ranks
from kernels.hicache.sizing import PoolFormats
from kernels.hicache.spec import HiCacheSpec
from kernels.hicache.transfers import PageMoves, issue_backup, issue_load
from kernels.substrate.contract import KernelBody, PageIds, PageView, Region, Stream, Versions, Write
from kernels.substrate.cost import CostModel
from kernels.substrate.cost_file import with_override
from kernels.substrate.trace import MemoryTrace
from kernels.substrate.virtual.machine import VirtualMachine

_POINT = "compute.layer"


@dataclass(frozen=True, slots=True, eq=False)
class EarlyView:
    """What the read of one pool saw, and in which layers (absolute ids) it saw exactly that."""

    view: PageView
    layers: tuple[int, ...]


EarlyReads = Mapping[tuple[PoolKind, int], tuple[EarlyView, ...]]
"""By pool and delay in nanoseconds."""


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """A load to read from. page_count: pages that come back from the host tier; the window pools load the last one."""

    geometry: Geometry
    formats: PoolFormats
    path: TransferPath
    cost: CostModel
    page_count: int


def early_reads(plan: LoadPlan, pools: Sequence[PoolKind], delays_ns: Sequence[int]) -> EarlyReads:
    """Read each of the pools, in every layer that has it, each delay before the pool's own copy of that layer ends."""
    lead_ns = max(delays_ns)
    ends = _Bench(plan, lead_ns).copy_ends_ns()
    bench = _Bench(plan, lead_ns)
    seen: dict[tuple[PoolKind, int, int], PageView] = {}
    moments = [
        (ends[kind, layer] - delay_ns, kind, layer, delay_ns)
        for kind in pools
        for layer in plan.geometry.layers_with(kind)
        for delay_ns in delays_ns
    ]
    for moment_ns, kind, layer, delay_ns in sorted(moments):
        bench.read(moment_ns, kind, layer, _keep(seen, (kind, layer, delay_ns)))
    bench.machine.run()
    return {
        (kind, delay_ns): _grouped({layer: seen[kind, layer, delay_ns] for layer in plan.geometry.layers_with(kind)})
        for kind in pools
        for delay_ns in delays_ns
    }


class _Bench:
    """A machine on which the load has been issued and waits for `lead_ns` of other work.

    So its copies are older than any read, also than those that come long before the first copy moves.
    """

    def __init__(self, plan: LoadPlan, lead_ns: int) -> None:
        self._plan = plan
        self._trace = MemoryTrace()
        self.machine = VirtualMachine(_without_jitter(plan.cost), trace=self._trace)
        self._pages = np.arange(plan.page_count, dtype=np.int64)
        schedule = self.machine.stream("schedule", device=0)
        tokens = plan.page_count * plan.geometry.page_tokens
        spec = HiCacheSpec(tokens, tokens, plan.formats, path=plan.path)
        (self._rank,) = build_ranks(self.machine, plan.geometry, spec, [schedule], "prefill")
        self._readers: dict[PoolKind, Stream] = {}
        moves = PageMoves(self._pages, self._pages, self._pages[-1:], self._pages[-1:])
        self._compute(self._pages + 1)
        start, finish = self.machine.event("backup.start"), self.machine.event("backup.finish")
        issue_backup(self._rank, plan.geometry, moves, plan.path, start, finish)
        self.machine.run()
        self._compute(self._pages + 1 + plan.page_count)
        self.machine.run()
        schedule.launch("work in front of the load", duration_ns=lead_ns, point=_POINT)
        issue_load(self._rank, plan.geometry, moves, plan.path, slot=0)

    def copy_ends_ns(self) -> dict[tuple[PoolKind, int], int]:
        """When the load's copy of each pool and layer ends. Effect: runs the load."""
        self.machine.run()
        labels: dict[str, tuple[PoolKind, int]] = {
            f"{kind}[layer {layer}]": (kind, layer)
            for kind in self._plan.geometry.pool_kinds
            for layer in self._plan.geometry.layers_with(kind)
        }
        return {labels[row.label]: row.end_ns for row in self._trace.operations if row.label in labels}

    def read(self, moment_ns: int, kind: PoolKind, layer: int, body: KernelBody) -> None:
        """Read a pool's loaded pages of one layer at this moment. Effect: lets the machine run up to it."""
        self.machine.advance_to(moment_ns)
        reader = self._readers.get(kind)
        if reader is None:
            reader = self._readers[kind] = self.machine.stream(f"reader.{kind}", device=0)
        region = _loaded(self._rank, kind, layer, self._pages)
        reader.launch(f"early {kind}[layer {layer}]", duration_ns=0, point=_POINT, reads=[region], body=body)

    def _compute(self, versions: Versions) -> None:
        """A session computes all pages, in every pool and layer."""
        writes = [Write(pool.all_layers(self._pages), versions) for pool in self._rank.device]
        self._rank.schedule.launch("a session's pages", duration_ns=1_000, point=_POINT, writes=writes)


def _loaded(rank: Rank, kind: PoolKind, layer: int, pages: PageIds) -> Region:
    return rank.device[kind].region(layer, pages[-1:] if kind in WINDOW_POOLS else pages)


def _keep(seen: dict[tuple[PoolKind, int, int], PageView], key: tuple[PoolKind, int, int]) -> KernelBody:
    def body(views: Sequence[PageView]) -> None:
        (seen[key],) = views

    return body


def _grouped(views: Mapping[int, PageView]) -> tuple[EarlyView, ...]:
    """Layers whose reads saw the same, together: without jitter that is usually all of them."""
    groups: dict[bytes, list[int]] = {}
    for layer, view in views.items():
        key = b"".join(array.tobytes() for array in (view.head, view.tail, view.tear))
        groups.setdefault(key, []).append(layer)
    return tuple(EarlyView(views[layers[0]], tuple(layers)) for layers in groups.values())


def _without_jitter(cost: CostModel) -> CostModel:
    return with_override(with_override(cost, "jitter.copy", 0.0), "jitter.compute", 0.0)
