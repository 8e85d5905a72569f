"""Memory and lanes of the threaded substrate.

Owns: making and ending them. Does not own: what they do. Floor 1.
"""

from __future__ import annotations

from kernels.substrate.contract import Region
from kernels.substrate.paged import PagedBuffer
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.work import Sight
from kernels.substrate.threaded.chaos import ChaosRules, StreamChaos
from kernels.substrate.threaded.lane import ThreadedLane
from kernels.substrate.threaded.memory import PageWords


class ThreadedBackend:
    """One OS thread a stream, one array a buffer."""

    name = "threaded"

    def __init__(self, clock: Clock, chaos: ChaosRules | None = None) -> None:
        self._clock = clock
        self._chaos = chaos
        self._memory: dict[str, PageWords] = {}
        self._lanes: list[ThreadedLane] = []

    def __repr__(self) -> str:
        return f"ThreadedBackend(lanes={len(self._lanes)}, buffers={len(self._memory)})"

    def adopt(self, buffer: PagedBuffer) -> None:
        self._memory[buffer.name] = PageWords(buffer.layer_count, buffer.page_count)

    def lane(self, stream: str, device: int) -> ThreadedLane:
        chaos = None if self._chaos is None else StreamChaos(self._chaos, stream)
        lane = ThreadedLane(stream, self._memory, self._clock, chaos)
        self._lanes.append(lane)
        return lane

    def look(self, buffer: PagedBuffer, region: Region) -> Sight:
        return self._memory[buffer.name].sight(region)

    def close(self) -> None:
        """Raises: what a stream's thread died of."""
        lanes, self._lanes = self._lanes, []
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            lane.join()
