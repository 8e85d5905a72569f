"""The workbench: a scenario's cache with a host that a scene drives step by step, and that knows every page's content.

Owns: the steps that scenes are made of; the check of content and, where asked, of the cache's invariants. Does not own:
the scenes, the cache, the kernels of a layer. Floor 5.

The check of content is no part of the cache: the bench notes which version it computed for a page key, and compares
that with what host issue order promises a forward. So a load that is forgotten, or goes to the wrong page, is seen too,
though no order is missing. It is told at the end only: the detector sees the whole program first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from harness.races.cache_program import INDEXED, batch_of, small_layers
from kernels.engine.forward import RankForward
from kernels.engine.pair import PairSpec
from kernels.hicache.access import LayerAccess
from kernels.hicache.controller import HiCache
from kernels.hicache.gate import NO_CONSUMER
from kernels.hicache.geometry import WINDOW_POOLS
from kernels.hicache.invariants import check
from kernels.hicache.lease import Lease
from kernels.hicache.pieces import HostPiece, wait_all
from kernels.hicache.spec import WritePolicy
from kernels.substrate.contract import Machine, Until
from kernels.substrate.cost import CostModel


@dataclass(frozen=True, slots=True)
class Sizes:
    """The two tiers, in pages; how many layers of the kind that is indexed, or 0 for layers of every kind; when a node
    is backed up; whether the cache's schedule stream is one of its own."""

    device_pages: int
    host_pages: int
    layer_count: int = 2
    policy: WritePolicy = "write_through"
    has_own_schedule: bool = False


@dataclass(slots=True, eq=False)
class Job:
    """One request. computed: pages whose content is there, or on its way."""

    lease: Lease
    keys: tuple[int, ...]
    computed: int = 0


class Steps(Protocol):
    """What a scene does on a bench."""

    def __call__(self, bench: Workbench) -> HostPiece[None]: ...


class Workbench:
    """One cache on one machine. `checks`: look at the invariants after every step."""

    def __init__(self, machine: Machine, spec: PairSpec, cost: CostModel, sizes: Sizes, *, checks: bool) -> None:
        indexed = next(kind for kind in spec.geometry.layer_kinds if kind in INDEXED)
        layers = (indexed,) * sizes.layer_count or small_layers(spec.geometry)
        geometry = replace(spec.geometry, layer_kinds=layers)
        tokens = geometry.page_tokens
        cache_spec = replace(
            spec.cache,
            device_tokens=sizes.device_pages * tokens,
            host_tokens=sizes.host_pages * tokens,
            policy=sizes.policy,
            load_back_threshold_tokens=min(spec.cache.load_back_threshold_tokens, tokens),
        )
        self._stream = machine.stream("prefill.r0.forward", device=0)
        schedule = machine.stream("prefill.r0.schedule", device=0) if sizes.has_own_schedule else self._stream
        self.cache = HiCache(machine, geometry, cache_spec, [schedule], name="prefill")
        self._access = LayerAccess(geometry, self.cache.ranks[0], spec.variant)
        all_reduce = [machine.event("all_reduce.r0")]
        self._forward = RankForward(machine, self._access, self._stream, cost, spec.share, all_reduce)
        self._done = machine.event("prefill.forward_done")
        self._machine = machine
        self._checks = checks
        self._versions = 0
        self._content: dict[int, int] = {}
        self._wrong: list[str] = []

    def __repr__(self) -> str:
        return f"Workbench({self.cache})"

    # The steps of one request.

    def admit(self, keys: Sequence[int]) -> HostPiece[Job]:
        """Open a request and queue the load of its host part."""
        return (yield from self.load_back(self.open(keys)))

    def open(self, keys: Sequence[int]) -> Job:
        job = Job(self.cache.open(keys), tuple(keys))
        self._look()
        return job

    def load_back(self, job: Job) -> HostPiece[Job]:
        yield from self.cache.load_back(job.lease)
        job.computed = len(job.lease.prefix_pages)
        self._look()
        return job

    def reserve(self, job: Job, count: int) -> HostPiece[None]:
        """Take pages for new tokens; where there is no room, wait for what is in flight and try once more."""
        pages = yield from self.cache.reserve(job.lease, count)
        if pages is None:
            yield from self.settle()
            pages = yield from self.cache.reserve(job.lease, count)
        assert pages is not None, f"no room for {count} pages: {self.cache}"
        self._look()

    def expect_no_room(self, job: Job, count: int) -> HostPiece[None]:
        """Ask for more pages than can be had while others hold theirs."""
        pages = yield from self.cache.reserve(job.lease, count)
        assert pages is None, f"room for {count} pages, though others hold theirs: {self.cache}"
        self._look()

    def load(self) -> HostPiece[int]:
        """Start the queued loads, for the next forward to wait for. Returns: the ring set."""
        slot = yield from self.cache.start_loading()
        self.cache.set_consumer(slot)
        self._look()
        return slot

    def forward(self, *jobs: Job) -> HostPiece[None]:
        """One forward that computes all pages that its jobs hold and that are not computed yet."""
        for job in jobs:
            self._compare(job)
        batch = batch_of([(job.lease, job.computed) for job in jobs], self._versions)
        yield from self._forward.issue(batch, 0)
        self._stream.record(self._done)
        for job in jobs:
            for key in job.keys[job.computed : len(job.lease.pages)]:
                self._versions += 1
                self._content[key] = self._versions
            job.computed = len(job.lease.pages)

    def wait(self) -> HostPiece[None]:
        """The host waits for the last forward."""
        yield Until(self._done)

    def insert(self, job: Job, *, is_chunk: bool = False) -> None:
        self.cache.insert(job.lease, job.keys[: job.computed], is_chunk=is_chunk)
        self._look()

    def release(self, job: Job) -> None:
        self.cache.release(job.lease)
        self._look()

    def no_load(self) -> None:
        """The next forward has no load of its own."""
        self.cache.set_consumer(NO_CONSUMER)

    # Several steps in one.

    def turn(self, keys: Sequence[int], *, waits: bool = True) -> HostPiece[None]:
        """A request from beginning to end. waits: the host does not go on before the forward is over."""
        job = yield from self.admit(keys)
        yield from self.reserve(job, len(keys) - job.computed)
        yield from self.load()
        yield from self.forward(job)
        if waits:
            yield from self.wait()
        self.insert(job)
        self.release(job)

    def push_out(self, page_count: int) -> HostPiece[None]:
        """A request that takes pages away from others, and is given up before it computes anything."""
        job = self.open(())
        yield from self.reserve(job, page_count)
        self.release(job)

    def drain(self) -> HostPiece[None]:
        """Wait for the backups in flight."""
        assert self.cache.backups is not None
        yield from self.cache.backups.drain()
        self._look()

    def poll(self) -> HostPiece[None]:
        yield from self.cache.poll()
        self._look()

    def settle(self) -> HostPiece[None]:
        """Wait for all transfers in flight, and let go of what they held."""
        yield from self.drain()
        for rank in self.cache.ranks:
            yield from wait_all(rank.ring.finish_event(slot) for slot in range(rank.ring.depth))
        yield from self.poll()

    def end(self) -> HostPiece[None]:
        """Everything comes to rest. Raises: AssertionError where some content was wrong."""
        yield from self.settle()
        assert not self._wrong, f"wrong content: {self._wrong[0]}"

    # The checks.

    def _look(self) -> None:
        if self._checks:
            check(self.cache)

    def _compare(self, job: Job) -> None:
        """Is what host issue order promises for a job's context what was computed for its keys?"""
        pages = job.lease.pages[: job.computed]
        wanted = [self._content[key] for key in job.keys[: job.computed]]
        for layer in range(self.cache.geometry.layer_count):
            for kind in self.cache.geometry.pools_of(layer):
                begin = max(0, len(pages) - 1) if kind in WINDOW_POOLS else 0
                held = self._machine.wanted(self._access.region(kind, layer, pages[begin:]))[0].tolist()
                for key, page, has, wants in zip(job.keys[begin:], pages[begin:], held, wanted[begin:], strict=False):
                    if has != wants:
                        self._wrong.append(
                            f"{kind}[layer {layer}] page {page} is to hold version {has}; key {key} is version {wants}"
                        )
