"""Time that moves when a test says so, for everything that sleeps on a `Clock`.

Owns: the clock. Does not own: any assertion. Floor: tests. Source: ours.
"""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush

S = 1_000_000_000
_TURNS = 25
"""Of the loop after each wake: longer than any chain of tasks that wakes another in these tests."""


class FakeClock:
    def __init__(self) -> None:
        self.now_ns = 0
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0

    @property
    def is_virtual(self) -> bool:
        return False

    def join(self, awake: str) -> None: ...

    def leave(self, awake: str) -> None: ...

    def hold(self, key: str) -> None: ...

    def release(self, key: str) -> None: ...

    async def run(self) -> None: ...

    async def sleep_until(self, time_ns: int, order: tuple[int, ...], *, awake: str) -> None:
        if time_ns <= self.now_ns:
            await asyncio.sleep(0)
            return
        self._count += 1
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (time_ns, self._count, woken))
        await woken

    async def advance_to(self, seconds: float) -> None:
        """Wake everybody who is due by then, in order."""
        until_ns = round(seconds * S)
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= until_ns:
            self.now_ns, _, woken = heappop(self._sleepers)
            if not woken.done():
                woken.set_result(None)
            await self._settle()
        self.now_ns = until_ns

    async def _settle(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
