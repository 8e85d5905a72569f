"""The cache as an engine uses it: admit a request, load back, reserve, insert, release, poll.

Owns: the way of a page between free list, request, tree and host tier. Does not own: request scheduling, what the
pages hold, when the forward runs. Floor 2a.
Source: SGLang HiRadixCache, HiCacheController and PrefillAdder (rules), ours (code).

One request's way through the cache:
    lease = cache.open(page_keys)                   match, and lock what was found
    yield from cache.load_back(lease)               settle the host part: queued for loading, or given up
    pages = yield from cache.reserve(lease, count)  pages for new tokens, or None: release and try later
    consumer = yield from cache.start_loading()     once per batch, before its forward is issued
    cache.set_consumer(consumer)
    cache.insert(lease, page_keys)                  after the forward (and after each chunk of it)
    cache.release(lease)
and `yield from cache.poll()` once in each turn of the scheduler loop. Everything runs on one host thread; the methods
that can meet a wait are generators. With `host_tokens = 0` the same cache has no host tier: evicted means gone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.hicache.allocator import PageAllocator
from kernels.hicache.backups import BackupQueue
from kernels.hicache.eviction import device_victims, evict_from_device
from kernels.hicache.geometry import Geometry
from kernels.hicache.lease import Lease
from kernels.hicache.loads import LoadOperation, LoadQueue, LoadRequest
from kernels.hicache.node import Node, PageRun
from kernels.hicache.pieces import HostPiece
from kernels.hicache.prefix import NO_PAGES, Insertion, Match
from kernels.hicache.radix import RadixTree
from kernels.hicache.ranks import Rank, build_ranks
from kernels.hicache.spec import HiCacheSpec, check_spec
from kernels.hicache.statistics import Statistics, Tally
from kernels.hicache.transfers import PageMoves
from kernels.substrate.contract import Machine, PageIds, Stream


class HiCache:
    """Device and host pages of one engine, shared by all its requests and replicated over its ranks."""

    def __init__(
        self, machine: Machine, geometry: Geometry, spec: HiCacheSpec, schedules: Sequence[Stream], *, name: str
    ) -> None:
        """Effect: makes pools, streams and events on the machine, named after `name`.

        Args:
            schedules: one stream per tensor parallel rank; what it holds so far precedes every transfer that starts.
        Raises: ConfigError where no cache can be built from `spec`.
        """
        check_spec(spec, geometry)
        assert schedules, "a cache needs at least one rank"
        self.geometry = geometry
        self.spec = spec
        self.ranks: tuple[Rank, ...] = build_ranks(machine, geometry, spec, schedules, name)
        self.tree = RadixTree()
        self.device = PageAllocator(spec.device_pages(geometry), spec.reuse)
        self.host: PageAllocator | None = None
        self.backups: BackupQueue | None = None
        self.leases: dict[int, Lease] = {}
        self._tally = Tally()
        self._next_lease = 0
        self.loads = LoadQueue(machine, geometry, spec.path, self.ranks, self.tree, self._tally)
        if spec.host_tokens > 0:
            self.host = PageAllocator(spec.host_pages(geometry), "fifo")
            self.backups = BackupQueue(machine, geometry, spec.path, self.ranks, self.tree, self.host, self._tally)

    @property
    def statistics(self) -> Statistics:
        return self._tally.now

    @property
    def is_idle(self) -> bool:
        """True where no transfer is queued or in flight."""
        return self.loads.is_idle and (self.backups is None or self.backups.is_idle)

    def match(self, page_keys: Sequence[int]) -> Match:
        """Look up a prefix without holding it, for a scheduler that orders requests by it.

        Effect: counts as a use of the prefix (least-recently-used order).
        """
        return self.tree.match(page_keys)

    def open(self, page_keys: Sequence[int]) -> Lease:
        """Admit a request: match, then lock the device part and pin the host part.

        Args:
            page_keys: one chained hash for each whole page that the request may take from the cache. Leave at least
                one token to compute: the keys of a prompt of n tokens are those of its first (n - 1) // page_tokens
                pages.
        """
        match = self.tree.match(page_keys)
        lease = Lease(self._next_lease, match)
        self._next_lease += 1
        self.leases[lease.id] = lease
        self.tree.lock(lease.node)
        if lease.pinned is not None:
            self.tree.pin(lease.pinned)
        self._tally.add(device_hit_pages=len(match.device_pages), host_hit_pages=match.host_hit_pages)
        return lease

    def load_back(self, lease: Lease) -> HostPiece[int]:
        """Settle a lease's host part: queue its load, all or nothing. Does nothing where there is no host part.

        Effect: the prefix grows by the loaded pages, which must not be read before `start_loading` has been called;
        or, where the hit is too small or no room can be made, the prefix shrinks to what the device alone can serve.
        Returns: number of pages that will be loaded.
        """
        assert lease.is_open, lease
        if lease.is_settled:
            return 0
        # Another request may have loaded or computed a part since this one was opened: count what is missing now.
        last = lease.match.host_node
        evicted = [node for node in last.path() if node.is_evicted]
        count = sum(len(node.key) for node in evicted)
        needs_window = last.device is None or not last.device.window[-1]
        is_too_small = 0 < count * self.geometry.page_tokens < self.spec.load_back_threshold_tokens
        pages = None if is_too_small else (yield from self._room(count))
        if pages is None:
            self._tally.add(loads_refused=1)
            resident = self.tree.match(lease.match.keys, device_only=True)
            self._move(lease, resident.device_node, resident.device_pages)
            return 0
        if needs_window:
            self.loads.add(LoadRequest(last, self._restore(last, evicted, pages)))
            self._tally.add(load_backs=1, loaded_pages=count, window_loads=int(count == 0))
        self._move(lease, last, _device_pages(last))
        lease.loaded_pages = count
        return count

    def _restore(self, last: Node, evicted: Sequence[Node], pages: PageIds) -> PageMoves:
        """Give evicted nodes their new device pages, and `last` its window; returns what must be copied for that."""
        begin = 0
        host_pages: list[PageIds] = [NO_PAGES]
        for node in evicted:
            assert node.host is not None, f"an evicted node must be backed up: {node}"
            end = begin + len(node.key)
            self.tree.set_device(node, PageRun.moved(pages[begin:end], has_window=not self.geometry.has_window))
            host_pages.append(node.host.pages)
            begin = end
        assert last.device is not None, last
        assert last.host is not None, last
        self.tree.set_device(last, last.device.with_trailing_window())
        return PageMoves(np.concatenate(host_pages), pages, last.host.pages[-1:], last.device.pages[-1:])

    def reserve(self, lease: Lease, count: int) -> HostPiece[PageIds | None]:
        """Take device pages for a request's new tokens, evicting if needed.

        Effect: the pages are appended to the lease. Returns: [count] int64, or None (and nothing was evicted) where no
        room can be made: release the lease, or try again when other requests have been released.
        """
        assert lease.is_open, lease
        assert lease.is_settled, f"call load_back before reserve: {lease}"
        pages = yield from self._room(count)
        if pages is not None:
            lease.own_pages = np.concatenate((lease.own_pages, pages))
        return pages

    def _room(self, count: int) -> HostPiece[PageIds | None]:
        """Take free device pages; where there are too few, evict the least recently used nodes first."""
        missing = count - self.device.free_pages
        if missing > 0:
            victims = device_victims(self.tree, missing)
            if victims is None:
                return None
            if self.backups is not None and self.spec.policy == "write_back":
                for victim in victims:
                    if not victim.is_backed_up:
                        self.backups.start(victim)
                # The device pages are free only once their copies have ended: the host waits, as SGLang's does.
                yield from self.backups.drain()
            for victim in victims:
                self._evict(victim)
        return self.device.alloc(count)

    def _evict(self, node: Node) -> None:
        evicted = evict_from_device(self.tree, node)
        self.device.free(evicted.device_pages)
        if self.host is not None:
            self.host.free(evicted.host_pages)
        self._tally.add(
            evicted_device_pages=len(evicted.device_pages),
            evicted_host_pages=len(evicted.host_pages),
            dropped_pages=0 if node.is_backed_up else len(evicted.device_pages),
        )

    def insert(self, lease: Lease, page_keys: Sequence[int], *, is_chunk: bool = False) -> Insertion:
        """Put a request's whole pages into the tree, once its forward has finished on the host's side too.

        Effect: the lease's page table takes the tree's pages for the inserted prefix and stays locked on it; pages that
        were computed twice are freed. A node that has been used often enough is backed up, but a chunk is no use.
        Args:
            page_keys: chained hashes of all whole pages so far, the prefix included.
            is_chunk: true while the request's prefill goes on.
        """
        assert lease.is_open, lease
        assert lease.is_settled, f"call load_back before insert: {lease}"
        pages, count = lease.pages, len(page_keys)
        assert len(lease.prefix_pages) <= count <= len(pages), (lease, count)
        insertion = self.tree.insert(page_keys, pages[:count], len(lease.prefix_pages))
        self.device.free(insertion.freed)
        duplicates = len(insertion.freed) - insertion.taken_over
        self._tally.add(taken_over_pages=insertion.taken_over, duplicate_pages=duplicates)
        lease.own_pages = pages[len(insertion.pages) :]
        self._move(lease, insertion.path[-1] if insertion.path else self.tree.root, insertion.pages)
        if not is_chunk:
            self._count_use(insertion.path)
        return insertion

    def _count_use(self, path: Sequence[Node]) -> None:
        for node in path:
            node.hit_count += 1
            is_due = 0 < self.spec.backup_hits <= node.hit_count
            if self.backups is not None and is_due and not node.is_backed_up:
                self.backups.start(node)

    def release(self, lease: Lease) -> None:
        """End a request: unlock its prefix and free the pages that never reached the tree.

        Effect: call it when nothing on the device reads or writes the lease's pages any more. A load that was queued
        for it stays queued and goes with the next batch.
        """
        assert lease.is_open, lease
        self._move(lease, self.tree.root, NO_PAGES)
        self.device.free(lease.own_pages)
        lease.own_pages = NO_PAGES
        lease.is_open = False
        del self.leases[lease.id]

    def _move(self, lease: Lease, node: Node, prefix_pages: PageIds) -> None:
        """Lock a lease's new prefix before the old one is let go; a pin, if there still is one, ends."""
        self.tree.lock(node)
        self.tree.unlock(lease.node)
        if lease.pinned is not None:
            self.tree.unpin(lease.pinned)
            lease.pinned = None
        lease.node, lease.prefix_pages = node, prefix_pages

    def start_loading(self) -> HostPiece[int]:
        """Merge all queued loads into one and enqueue it, all layers, on every rank's load stream.

        Effect: costs the calling host thread the enqueueing; waits where three loads are in flight already.
        Returns: the consumer index for the batch that needs them; `NO_CONSUMER` where nothing is queued.
        """
        return (yield from self.loads.start())

    def merge_loads(self) -> HostPiece[LoadOperation | None]:
        """The first half of `start_loading`, for an engine with one host thread per rank: see `issue_load`."""
        return (yield from self.loads.merge())

    def issue_load(self, operation: LoadOperation, rank_index: int) -> None:
        """The second half: enqueue a merged load on one rank. Must be called for every rank before any polls."""
        self.loads.issue(operation, self.ranks[rank_index])

    def set_consumer(self, index: int) -> None:
        """Name the load that the next forward's reads wait for, on every rank."""
        for rank in self.ranks:
            rank.gate.set_consumer(index)

    def poll(self) -> HostPiece[int]:
        """Acknowledge what has finished: its pages may be evicted again. Returns: number of transfers."""
        count = yield from self.loads.poll()
        if self.backups is not None:
            count += yield from self.backups.poll()
        return count

    def flush(self) -> bool:
        """Forget everything that is cached; False, and no effect, while a request or a transfer is in the way."""
        if self.leases or not self.is_idle:
            return False
        self.tree.clear()
        self.device.reset()
        if self.host is not None:
            self.host.reset()
        return True

    def __repr__(self) -> str:
        return f"HiCache({self.tree}, device {self.device}, host {self.host}, {len(self.leases)} leases)"


def _device_pages(node: Node) -> PageIds:
    """Device pages from the root down to the end of a resident node."""
    return np.concatenate([NO_PAGES, *(step.device.pages for step in node.path() if step.device is not None)])
