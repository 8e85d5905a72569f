"""Backups in flight: nodes on their way to the host tier, acknowledged in order.

Owns: host pages of new backups, and the locks that a backup holds until it is acknowledged. Does not own: when a node
is backed up (controller), the copies (transfers). Floor 2a.
Source: SGLang HiCacheController.write, HiRadixCache.write_backup and writing_check.

A node counts as backed up from the moment its copy *starts*, as in SGLang; only its lock keeps anyone from using the
host pages before they are filled, because a node must be evicted to be loaded, and cannot be while it is locked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.hicache.allocator import PageAllocator
from kernels.hicache.eviction import evict_from_host, host_victims
from kernels.hicache.geometry import Geometry
from kernels.hicache.node import Node, PageRun
from kernels.hicache.paths import TransferPath
from kernels.hicache.pieces import HostPiece, all_done, wait_all
from kernels.hicache.radix import RadixTree
from kernels.hicache.ranks import Rank
from kernels.hicache.statistics import Tally
from kernels.hicache.transfers import PageMoves, issue_backup
from kernels.substrate.contract import Event, Machine, PageIds


@dataclass(frozen=True, slots=True, eq=False)
class BackupOperation:
    """One node's backup. `finish`: one event per rank."""

    node: Node
    finish: tuple[Event, ...]


class BackupQueue:
    def __init__(
        self,
        machine: Machine,
        geometry: Geometry,
        path: TransferPath,
        ranks: Sequence[Rank],
        tree: RadixTree,
        host: PageAllocator,
        tally: Tally,
    ) -> None:
        self._machine = machine
        self._geometry = geometry
        self._path = path
        self._ranks = ranks
        self._tree = tree
        self._host = host
        self._tally = tally
        self._in_flight: deque[BackupOperation] = deque()
        self._started = 0

    @property
    def is_idle(self) -> bool:
        return not self._in_flight

    @property
    def held_nodes(self) -> list[Node]:
        """One entry for each lock that a running backup holds."""
        return [operation.node for operation in self._in_flight]

    def start(self, node: Node) -> bool:
        """Copy a node's device pages to the host tier; False where no room can be made for it.

        Effect: may evict host-only nodes; enqueues the copies on every rank; locks the node.
        """
        device = node.device
        assert device is not None, f"only resident nodes can be backed up: {node}"
        assert not node.is_backed_up, node
        host_pages = self._room(len(device))
        if host_pages is None:
            self._tally.add(backups_refused=1)
            return False
        # Only the last page's window goes along: it is the trailing page of the request that made the node.
        assert device.window.all(), f"a node in no other tier was computed here: {node}"
        run = PageRun.moved(host_pages, has_window=not self._geometry.has_window).with_trailing_window()
        moves = PageMoves(host_pages, device.pages, host_pages[-1:], device.pages[-1:])
        self._tree.set_host(node, run)
        self._tree.lock(node)
        self._in_flight.append(BackupOperation(node, tuple(self._issue(rank, moves) for rank in self._ranks)))
        self._started += 1
        self._tally.add(backups=1, backed_up_pages=len(device))
        return True

    def _issue(self, rank: Rank, moves: PageMoves) -> Event:
        name = f"backup[{self._started}].r{rank.index}"
        start, finish = self._machine.event(f"{name}.start"), self._machine.event(f"{name}.finish")
        size_bytes = issue_backup(rank, self._geometry, moves, self._path, start, finish)
        self._tally.add(backed_up_bytes=size_bytes)
        return finish

    def _room(self, page_count: int) -> PageIds | None:
        """Take host pages, evicting host-only nodes if that makes enough room."""
        missing = page_count - self._host.free_pages
        if missing > 0:
            victims = host_victims(self._tree, missing)
            if victims is None:
                return None
            for victim in victims:
                evicted = evict_from_host(self._tree, victim)
                self._host.free(evicted.host_pages)
                self._tally.add(evicted_host_pages=len(evicted.host_pages))
        return self._host.alloc(page_count)

    def poll(self) -> HostPiece[int]:
        """Acknowledge finished backups, oldest first, up to the first that is not finished on every rank.

        Effect: unlocks. Returns: number of backups acknowledged.
        """
        count = 0
        while self._in_flight:
            is_done = yield from all_done(self._in_flight[0].finish)
            if not is_done:
                break
            self._tree.unlock(self._in_flight.popleft().node)
            count += 1
        return count

    def drain(self) -> HostPiece[None]:
        """Wait for all backups in flight and acknowledge them (write-back must, before it frees device pages)."""
        while self._in_flight:
            yield from wait_all(self._in_flight[0].finish)
            self._tree.unlock(self._in_flight.popleft().node)

    def __repr__(self) -> str:
        return f"BackupQueue({len(self._in_flight)} in flight)"
