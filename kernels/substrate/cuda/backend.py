"""Memory and lanes of the CUDA substrate.

Owns: making and ending them, and looking at memory from the host. Does not own: what lanes do. Floor 1.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernels.arrays.cuda.versions import WORD_BYTES, Seen, read_versions
from kernels.substrate.contract import Region
from kernels.substrate.cuda.devices import Devices
from kernels.substrate.cuda.lane import CudaLane, DeviceEvent
from kernels.substrate.cuda.memory import PoolMemory, allocate
from kernels.substrate.paged import PagedBuffer
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.work import Sight

_HOST = "host"


class CudaBackend:
    """CuPy streams and real memory. The legacy default stream is never used.

    gather_blocks: how many blocks of the gather kernel copy over the bus (SGLang's uses 2).
    divisor: of each buffer, what its pages' bytes are divided by, for pools that would not fit; 1 is the real size.
    """

    name = "cuda"

    def __init__(
        self, clock: Clock, *, gather_blocks: int = 2, divisor: Callable[[PagedBuffer], int] = lambda _: 1
    ) -> None:
        """Raises: EnvironmentProblem without CuPy, driver or device."""
        self.devices = Devices()
        self._divisor = divisor
        self._clock = clock
        self._gather_blocks = gather_blocks
        self._memory: dict[str, PoolMemory] = {}
        self._events: dict[str, DeviceEvent] = {}
        self._lanes: list[CudaLane] = []

    def __repr__(self) -> str:
        return f"CudaBackend(devices={self.devices.count}, lanes={len(self._lanes)}, buffers={len(self._memory)})"

    def adopt(self, buffer: PagedBuffer) -> None:
        """Raises: EnvironmentProblem where there is too little memory."""
        device = None if buffer.space == _HOST else self.devices.real(int(buffer.space.partition(":")[2]))
        with self.devices.on(device or 0):
            self._memory[buffer.name] = allocate(buffer, device, self._divisor(buffer))

    def lane(self, stream: str, device: int) -> CudaLane:
        real = self.devices.real(device)
        with self.devices.on(real):
            kernels = self.devices.kernels[real]
            lane = CudaLane(stream, kernels, self._memory, self._events, self._clock, self._gather_blocks)
        self._lanes.append(lane)
        return lane

    def look(self, buffer: PagedBuffer, region: Region) -> Sight:
        import cupy

        memory = self._memory[buffer.name]
        device = memory.device or 0
        count = len(region.layers) * len(region.pages)
        with self.devices.on(device), cupy.cuda.Stream(non_blocking=True) as stream:
            layers = cupy.asarray(np.asarray(region.layers, dtype=np.int64))
            found = [cupy.empty(count, cupy.int64) for _ in range(4)]
            read_versions(
                self.devices.kernels[device], memory.paged(), layers, cupy.asarray(region.pages), Seen(*found)
            )
            head, tail, tear, _ = (column.get(stream=stream) for column in found)
        return Sight(head, tail, (tear / (memory.page_bytes // WORD_BYTES)).astype(np.float32))

    def close(self) -> None:
        lanes, self._lanes = self._lanes, []
        for lane in lanes:
            lane.synchronize()
        self._memory.clear()
        self._events.clear()
