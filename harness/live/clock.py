"""How late the client itself is: the loop's own timers, and the time from the kernel's readiness to our handling.

Owns: two heartbeats and their lateness, and the process's CPU time. Does not own: what lateness means (`latency.py`).
Floor 5. Source: facts/loadgen.md section 3 (no load generator says that an inter-token tail is its own).

The second heartbeat is a timer of the kernel (timerfd): it becomes readable at known instants, as a socket does when
bytes arrive, so a chunk's stamp is as late as it is. Beats that were missed count as late as they were.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import sys
import time
from typing import Final

BEAT_NS: Final = 10_000_000
_MONOTONIC: Final = 1
_ABSOLUTE: Final = 1
_NONBLOCK_CLOEXEC: Final = os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0)
_SAMPLES_MAX: Final = 1_000_000


class LagMeter:
    """`async with LagMeter() as lag`: the samples grow inside. kernel_ns: empty where there is no such timer."""

    def __init__(self) -> None:
        self.loop_ns: list[int] = []
        self.kernel_ns: list[int] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._fd: int | None = None
        self._due_ns = 0
        self._began_cpu_ns = 0
        self._began_ns = 0

    def __repr__(self) -> str:
        return f"LagMeter({len(self.loop_ns)} beats, {len(self.kernel_ns)} of the kernel)"

    async def __aenter__(self) -> LagMeter:
        self._loop = asyncio.get_running_loop()
        self._began_ns, self._began_cpu_ns = time.perf_counter_ns(), time.process_time_ns()
        self._beat_at(self._loop.time() + BEAT_NS / 1e9)
        self._fd = _kernel_timer()
        if self._fd is not None:
            self._due_ns = time.clock_gettime_ns(_MONOTONIC) + BEAT_NS
            _arm(self._fd, self._due_ns)
            self._loop.add_reader(self._fd, self._readable)
        return self

    async def __aexit__(self, *failure: object) -> None:
        assert self._loop is not None
        if self._handle is not None:
            self._handle.cancel()
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)

    @property
    def cpu_share(self) -> float:
        """Of one core, since the beginning."""
        wall_ns = time.perf_counter_ns() - self._began_ns
        return (time.process_time_ns() - self._began_cpu_ns) / wall_ns if wall_ns else 0.0

    def _beat_at(self, due_s: float) -> None:
        assert self._loop is not None
        self._handle = self._loop.call_at(due_s, self._beat, due_s)

    def _beat(self, due_s: float) -> None:
        assert self._loop is not None
        now_s = self._loop.time()
        _keep(self.loop_ns, max(0, int((now_s - due_s) * 1e9)))
        self._beat_at(max(due_s + BEAT_NS / 1e9, now_s))

    def _readable(self) -> None:
        assert self._fd is not None
        try:
            count = int.from_bytes(os.read(self._fd, 8), sys.byteorder)
        except BlockingIOError:
            return
        now_ns = time.clock_gettime_ns(_MONOTONIC)
        for _ in range(count):
            _keep(self.kernel_ns, max(0, now_ns - self._due_ns))
            self._due_ns += BEAT_NS


def _keep(samples: list[int], value: int) -> None:
    if len(samples) < _SAMPLES_MAX:
        samples.append(value)


def _kernel_timer() -> int | None:
    """A timer's file descriptor; None where the system has none (os.timerfd_create is of Python 3.13)."""
    if sys.platform != "linux":
        return None
    try:
        fd: int = ctypes.CDLL(None).timerfd_create(_MONOTONIC, _NONBLOCK_CLOEXEC)
    except (OSError, AttributeError):
        return None
    return fd if fd >= 0 else None


def _arm(fd: int, first_ns: int) -> None:
    whole = struct.pack("@qqqq", *divmod(BEAT_NS, 1_000_000_000), *divmod(first_ns, 1_000_000_000))
    ctypes.CDLL(None).timerfd_settime(fd, _ABSOLUTE, whole, None)
