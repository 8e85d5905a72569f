"""Virtual time: a heap of what happens when.

Owns: now, the order of events, and stopping early. Does not own: what the events do. Floor 1.
Source: the heap of (time, insertion order, what to do), which makes ties deterministic, is simpy's idea.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

_NEVER_NS = 1 << 62


class Timeline:
    """Integer nanoseconds from 0. Events of one instant run in the order in which they were arranged."""

    def __init__(self) -> None:
        self.now_ns = 0
        self._heap: list[tuple[int, int, Callable[[Any], None], Any]] = []
        self._arranged_count = 0
        self._is_running = False
        self._is_interrupted = False

    def __repr__(self) -> str:
        return f"Timeline(now={self.now_ns} ns, arranged={len(self._heap)}, next={self.next_time_ns()})"

    def at(self, time_ns: int, act: Callable[[Any], None], argument: Any) -> None:
        """Call `act(argument)` at this time, after everything that was arranged for it earlier."""
        assert time_ns >= self.now_ns, f"it is {self.now_ns} ns: nothing can be arranged for {time_ns} ns"
        self._arranged_count += 1
        heappush(self._heap, (time_ns, self._arranged_count, act, argument))

    def next_time_ns(self) -> int | None:
        """The next instant at which something happens, None where nothing will."""
        return self._heap[0][0] if self._heap else None

    def advance_to(self, time_ns: int) -> None:
        """Process every event up to and including this time; then it is this time, unless something interrupted."""
        assert time_ns >= self.now_ns, f"it is {self.now_ns} ns: cannot go back to {time_ns} ns"
        self._process(time_ns)
        if not self._is_interrupted:
            self.now_ns = time_ns

    def run(self) -> None:
        """Process events until none is left, or something interrupts."""
        self._process(_NEVER_NS)

    def interrupt(self) -> None:
        """Stop when the current instant is over."""
        self._is_interrupted = True

    def _process(self, limit_ns: int) -> None:
        assert not self._is_running, "time cannot be advanced from inside an event"
        self._is_running, self._is_interrupted = True, False
        heap = self._heap
        try:
            while heap and heap[0][0] <= limit_ns:
                if self._is_interrupted and heap[0][0] > self.now_ns:
                    return
                self.now_ns, _, act, argument = heappop(heap)
                act(argument)
        finally:
            self._is_running = False
