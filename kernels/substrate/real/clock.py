"""The wall clock of a real machine.

Owns: reading it. Does not own: the pauses of host programs, which are timers of the machine. Floor 1.
"""

from __future__ import annotations

import time


class Clock:
    """Nanoseconds since this clock was made."""

    def __init__(self) -> None:
        self._start_ns = time.perf_counter_ns()

    @property
    def now_ns(self) -> int:
        return time.perf_counter_ns() - self._start_ns

    def sleep_until(self, time_ns: int) -> None:
        """Block the calling OS thread; only a stream of the threaded substrate may."""
        left_ns = time_ns - self.now_ns
        if left_ns > 0:
            time.sleep(left_ns / 1e9)

    def give_way(self) -> None:
        """Let other OS threads run."""
        time.sleep(20e-6)
