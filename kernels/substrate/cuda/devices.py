"""The devices that there are, and what the machine's devices are on them.

Owns: the map from the simulator's device numbers to real ones, peer access, and the sentence when there is none.
Does not own: memory. Floor 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.pages import Pool, copy_pages
from kernels.arrays.cuda.versions import PagedMemory, Seen, read_versions, write_versions
from kernels.arrays.layout import PoolShape
from kernels.errors import EnvironmentProblem, KVRaceError
from kernels.substrate.contract import Delay
from kernels.substrate.delays import longest_ns


def is_available() -> tuple[bool, str]:
    """Whether there is a device that can be used, and one sentence that says what is missing."""
    try:
        Kernels()
    except EnvironmentProblem as problem:
        return False, str(problem)
    return True, ""


_WATCHDOG_NS = 1_000_000_000
"""A watchdog's limit is said to be two seconds or more."""


class Devices:
    """Every real device, its kernels, and peer access between them."""

    def __init__(self) -> None:
        """Raises: EnvironmentProblem without CuPy, driver or device."""
        Kernels()
        import cupy

        self._cupy = cupy
        self.count = int(cupy.cuda.runtime.getDeviceCount())
        self.kernels: list[Kernels] = []
        for number in range(self.count):
            with cupy.cuda.Device(number):
                self.kernels.append(Kernels())
                _warm(cupy, self.kernels[number])
                for other in range(self.count):
                    if other != number and cupy.cuda.runtime.deviceCanAccessPeer(number, other):
                        _enable_peer(cupy, other)

    def refuse_delays(self, delays: Sequence[Delay]) -> None:
        """Raises: EnvironmentProblem for a delay that a display's watchdog would take for a hanging kernel."""
        properties = (self._cupy.cuda.runtime.getDeviceProperties(number) for number in range(self.count))
        if any(found["kernelExecTimeoutEnabled"] for found in properties):
            refuse_longer(delays, _WATCHDOG_NS)

    def real(self, device: int) -> int:
        """The real device that the simulator's device `device` is: they share where there are fewer real ones."""
        return device % self.count

    def on(self, device: int) -> Any:
        """A context in which the real device `device` is current."""
        return self._cupy.cuda.Device(device)


def refuse_longer(delays: Sequence[Delay], limit_ns: int) -> None:
    """Raises: EnvironmentProblem for the first delay that may last longer."""
    for delay in delays:
        if longest_ns(delay) > limit_ns:
            raise EnvironmentProblem(
                f"the delay at {delay.point} may last {longest_ns(delay) / 1e9:.1f} s, and this device's watchdog kills"
                " kernels of some seconds",
                remedy=f"keep it below {limit_ns / 1e9:.0f} s, or take a device that drives no display",
            )


def _warm(cupy: Any, kernels: Kernels) -> None:
    """Compile and launch every kernel of this substrate once: a first launch takes long and holds up all streams."""
    with cupy.cuda.Stream(non_blocking=True) as stream:
        kernels.get("spin.cu", "spin")((1,), (1,), (np.uint64(1),))
        one, none = cupy.ones(1, np.int64), cupy.zeros(1, np.int64)
        for page_bytes in (64, 24):
            memory = cupy.zeros(2 * page_bytes, np.uint8)
            shape = PoolShape(layer_count=1, page_count=2, page_rows=1, row_bytes=page_bytes)
            pool = Pool(memory.data.ptr, "layer_first", shape)
            copy_pages(kernels, pool, none, pool, one)
            where = PagedMemory(memory.data.ptr, 2 * page_bytes, page_bytes)
            write_versions(kernels, where, none, one, cupy.ones((1, 1), np.int64))
            read_versions(kernels, where, none, one, Seen(*(cupy.zeros(1, np.int64) for _ in range(4))))
        stream.synchronize()


def _enable_peer(cupy: Any, other: int) -> None:
    try:
        cupy.cuda.runtime.deviceEnablePeerAccess(other)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        if "PeerAccessAlreadyEnabled" not in str(error):
            raise


class DeviceFault(KVRaceError):
    """Work on a device failed; nothing that comes after it on this device can be trusted."""

    exit_code = 3

    def __init__(self, *, stream: str, operation: str, reason: str) -> None:
        self.stream = stream
        self.operation = operation
        self.reason = reason
        super().__init__(
            f"the device failed while {stream} stood at {operation}: {reason}; what was done until then is in the"
            " trace, and compute-sanitizer names the access"
        )
