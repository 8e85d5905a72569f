"""Real time for a simulated machine: the servers of `serve` run against the wall clock.

Owns: when the machine's events are processed while clients that know nothing of virtual time come and go.
Does not own: the clock itself (`clock.py`), or virtual runs (`conductor.py`).
Floor 5. Source: ours.

Arrivals go through a queue here as well, so that a server's call never re-enters the engine from a callback.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from harness.load.clock import Order, TimeSource, WallClock, yield_to_others

_TIMER_S = 0.001
"""What an event loop's timers can tell apart."""
_LATE_EVENTS_MAX = 256
"""How many events a machine that is behind may process while somebody waits to be let in."""


class Pacer:
    """The servers' `Gate` on a wall clock: keys mean nothing, an arrival is delivered at the next opportunity.

    speed: virtual seconds for each real second.
    """

    def __init__(self, source: TimeSource, *, speed: float = 1.0, clock: WallClock | None = None) -> None:
        assert speed > 0, f"speed must be positive, not {speed}"
        self._source = source
        self._speed = speed
        self._clock = clock if clock is not None else WallClock()
        self._offset_ns = source.now_ns - int(self._clock.now_ns * speed)
        self._arrivals: list[tuple[Order, Callable[[], None]]] = []
        self._wake = asyncio.Event()

    def __repr__(self) -> str:
        return f"Pacer(now_ns={self.now_ns}, machine at {self._source.now_ns}, arrivals={len(self._arrivals)})"

    @property
    def is_virtual(self) -> bool:
        return False

    @property
    def now_ns(self) -> int:
        return int(self._clock.now_ns * self._speed) + self._offset_ns

    def hold(self, key: str) -> None: ...

    def release(self, key: str) -> None: ...

    def is_held(self, key: str) -> bool:
        return False

    def submit(self, order: Order, deliver: Callable[[], None]) -> None:
        self._arrivals.append((order, deliver))
        self._wake.set()

    async def run(self) -> None:
        """Serve until cancelled. A machine slower than real time falls behind; nothing is dropped or starved."""
        while True:
            self._wake.clear()
            await self._catch_up(self.now_ns)
            if self._arrivals:
                arrivals, self._arrivals = sorted(self._arrivals, key=lambda arrival: arrival[0]), []
                for _, deliver in arrivals:
                    deliver()
            else:
                due_ns = self._source.next_time_ns()
                await self._next_reason(None if due_ns is None else (due_ns - self.now_ns) / self._speed / 1e9)

    async def _catch_up(self, present_ns: int) -> None:
        """Process what is due. The present is the one at the call: arrivals must not wait for all that is to come.

        Nor for all that is due, where a machine is far behind: the further it is, the longer they would wait, and a
        worker that polls for a half which never comes would hold up everybody. They enter where the machine stands.
        """
        late_events = 0
        while (due_ns := self._source.next_time_ns()) is not None and due_ns <= present_ns:
            self._source.advance_to(due_ns)
            await yield_to_others()
            late_events += bool(self._arrivals)
            if late_events > _LATE_EVENTS_MAX:
                return
        self._source.advance_to(max(present_ns, self._source.now_ns))

    async def _next_reason(self, timeout_s: float | None) -> None:
        if timeout_s is not None and timeout_s < _TIMER_S:
            # The loop's timers are too coarse for a machine with real streams; the others get their turn meanwhile.
            await yield_to_others()
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return
