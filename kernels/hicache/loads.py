"""Loads in flight: queued requests, merged into one producer, acknowledged in order.

Owns: the load queue, and the locks and pins that a load holds until it is acknowledged. Does not own: the choice of
pages (controller), the copies (transfers). Floor 2a.
Source: SGLang HiCacheController.start_loading and HiRadixCache.loading_check (0.5.16: all ranks must be done).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.hicache.gate import NO_CONSUMER
from kernels.hicache.geometry import Geometry
from kernels.hicache.node import Node
from kernels.hicache.paths import TransferPath
from kernels.hicache.pieces import HostPiece, all_done
from kernels.hicache.radix import RadixTree
from kernels.hicache.ranks import Rank
from kernels.hicache.statistics import Tally
from kernels.hicache.transfers import PageMoves, at_rest_mismatches, issue_load, merged
from kernels.substrate.contract import Machine


@dataclass(frozen=True, slots=True, eq=False)
class LoadRequest:
    """One request's load-back. `node`: end of the loaded prefix, locked and pinned until the acknowledgement."""

    node: Node
    moves: PageMoves


@dataclass(frozen=True, slots=True, eq=False)
class LoadOperation:
    """Queued requests merged into one producer. `slot`: the ring set it completes, the same on every rank."""

    slot: int
    nodes: tuple[Node, ...]
    moves: PageMoves


class LoadQueue:
    def __init__(
        self,
        machine: Machine,
        geometry: Geometry,
        path: TransferPath,
        ranks: Sequence[Rank],
        tree: RadixTree,
        tally: Tally,
    ) -> None:
        self._machine = machine
        self._geometry = geometry
        self._path = path
        self._ranks = ranks
        self._tree = tree
        self._tally = tally
        self._queued: list[LoadRequest] = []
        self._in_flight: deque[LoadOperation] = deque()

    @property
    def is_idle(self) -> bool:
        return not self._queued and not self._in_flight

    @property
    def held_nodes(self) -> list[Node]:
        """One entry for each lock (and pin) that a queued or running load holds."""
        running = [node for operation in self._in_flight for node in operation.nodes]
        return [*running, *(request.node for request in self._queued)]

    def add(self, request: LoadRequest) -> None:
        """Queue a load-back. Effect: locks and pins its node; no copy is issued before `merge`."""
        self._tree.lock(request.node)
        self._tree.pin(request.node)
        self._queued.append(request)

    def merge(self) -> HostPiece[LoadOperation | None]:
        """Merge everything that is queued into one producer, or give None where nothing is.

        Effect: takes a ring set on every rank, waiting for one if three loads are in flight.
        """
        if not self._queued:
            return None
        slots: set[int] = set()
        for rank in self._ranks:
            waits = rank.ring.waits
            slots.add((yield from rank.ring.claim()))
            self._tally.add(ring_waits=rank.ring.waits - waits)
        assert len(slots) == 1, f"the ranks' rings are out of step: {slots}"
        requests, self._queued = self._queued, []
        operation = LoadOperation(
            slot=slots.pop(),
            nodes=tuple(request.node for request in requests),
            moves=merged([request.moves for request in requests]),
        )
        self._in_flight.append(operation)
        self._tally.add(loads=1)
        return operation

    def issue(self, operation: LoadOperation, rank: Rank) -> None:
        """Enqueue the operation's copies, all layers, on one rank. Must follow its `merge` at once."""
        size_bytes = issue_load(rank, self._geometry, operation.moves, self._path, operation.slot)
        self._tally.add(loaded_bytes=size_bytes)

    def start(self) -> HostPiece[int]:
        """Merge and issue on all ranks, one after the other. Returns the consumer index, or `NO_CONSUMER`."""
        operation = yield from self.merge()
        if operation is None:
            return NO_CONSUMER
        for rank in self._ranks:
            self.issue(operation, rank)
        return operation.slot

    def poll(self) -> HostPiece[int]:
        """Acknowledge finished loads, oldest first, up to the first that is not finished on every rank.

        Effect: unlocks and unpins. Returns: number of loads acknowledged.
        """
        count = 0
        while self._in_flight:
            operation = self._in_flight[0]
            is_done = yield from all_done([rank.ring.finish_event(operation.slot) for rank in self._ranks])
            if not is_done:
                break
            self._acknowledge(self._in_flight.popleft())
            count += 1
        return count

    def _acknowledge(self, operation: LoadOperation) -> None:
        for rank in self._ranks:
            mismatches = at_rest_mismatches(self._machine, rank, self._geometry, operation.moves)
            self._tally.add(at_rest_mismatches=mismatches)
        for node in operation.nodes:
            self._tree.unlock(node)
            self._tree.unpin(node)

    def __repr__(self) -> str:
        return f"LoadQueue({len(self._queued)} queued, {len(self._in_flight)} in flight)"
