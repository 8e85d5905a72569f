"""Time as the load generator sees it, and the seam to a machine whose time is simulated.

Owns: the `Clock` and `TimeSource` protocols, and `WallClock`, the only place of the project that really sleeps.
Does not own: virtual time (`conductor.py`) or the simulated machine (`kernels/substrate`).
Floor 5. Source: ours; the split of mechanism and time follows simpy's idea of one swappable event loop.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

Order = tuple[int, ...]
"""What decides between things due at the same instant: (session, turn, ...), lowest first."""


class TimeSource(Protocol):
    """The simulated machine's time. `Conductor` and `Pacer` drive it; nobody else may."""

    @property
    def now_ns(self) -> int: ...

    def next_time_ns(self) -> int | None:
        """The instant of the next event, or None when the machine has nothing left to do by itself."""

    def advance_to(self, time_ns: int) -> None:
        """Process every event up to and including `time_ns`, then stand at `time_ns`.

        Effect: may call token sinks. Returns early, standing at the event that was being processed, as soon as
        `interrupt` was called during it.
        """

    def interrupt(self) -> None:
        """Ask a running `advance_to` to return after the current event; a no-op at any other time."""


class Clock(Protocol):
    """What a session needs of time. On a wall clock the keys mean nothing and every call with one is a no-op."""

    @property
    def is_virtual(self) -> bool: ...

    @property
    def now_ns(self) -> int: ...

    def join(self, awake: str) -> None:
        """A participant takes part from now on, and is awake: time may not move until it sleeps."""

    def leave(self, awake: str) -> None:
        """The participant is done, however that came."""

    def hold(self, key: str) -> None: ...

    def release(self, key: str) -> None: ...

    async def sleep_until(self, time_ns: int, order: Order, *, awake: str) -> None:
        """Sleep; `awake` is released on the way in and held again on the way out."""

    async def run(self) -> None:
        """Move time until every participant has left."""


class WallClock:
    """Real time in nanoseconds since this clock was made; it was `begin_ns` then."""

    def __init__(self, begin_ns: int = 0) -> None:
        self._start_ns = time.perf_counter_ns() - begin_ns

    def __repr__(self) -> str:
        return f"WallClock(now_ns={self.now_ns})"

    @property
    def is_virtual(self) -> bool:
        return False

    @property
    def now_ns(self) -> int:
        return time.perf_counter_ns() - self._start_ns

    def join(self, awake: str) -> None: ...

    def leave(self, awake: str) -> None: ...

    def hold(self, key: str) -> None: ...

    def release(self, key: str) -> None: ...

    async def sleep_until(self, time_ns: int, order: Order, *, awake: str) -> None:
        await asyncio.sleep(max(0.0, (time_ns - self.now_ns) / 1e9))

    async def run(self) -> None: ...


async def yield_to_others() -> None:
    """Let every task that is ready run once before the caller goes on."""
    await asyncio.sleep(0)
