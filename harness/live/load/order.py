"""Keeping turns in an order: each is held back until it is its turn.

Owns: the holding back. Does not own: the order (`pattern.py`), or time. Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.live.load.pattern import Wave


class OrderGate:
    """Await it before a turn is sent, and tell it of every turn that has ended. in_flight: most at once."""

    def __init__(self, waves: Sequence[Wave], in_flight: int) -> None:
        self._waves = waves
        self._in_flight_max = in_flight
        self._in_flight = 0
        self._waiting: dict[tuple[int, int], asyncio.Future[None]] = {}
        self._wave = self._place = 0

    def __repr__(self) -> str:
        return f"OrderGate(wave {self._wave} of {len(self._waves)}, {self._in_flight} in flight)"

    async def __call__(self, session: int, turn: int) -> None:
        """Until this turn may be sent."""
        loop = asyncio.get_running_loop()
        waiting = self._waiting[session, turn] = loop.create_future()
        # Not in this call: whoever is let go while it has not begun to wait would overtake all others.
        loop.call_soon(self._let_go)
        await waiting

    def ended(self) -> None:
        """A turn that was let go is over, in whatever way."""
        self._in_flight -= 1
        self._let_go()

    def _let_go(self) -> None:
        while self._wave < len(self._waves):
            wave = self._waves[self._wave]
            if self._place == len(wave.keys):
                self._wave, self._place = self._wave + 1, 0
                continue
            if wave.is_apart and not self._place and (self._in_flight or not self._waiting.keys() >= set(wave.keys)):
                return
            key = wave.keys[self._place]
            if key not in self._waiting or self._in_flight >= self._in_flight_max:
                return
            waiting = self._waiting.pop(key)
            if waiting.cancelled():
                # The run is being stopped.
                return
            waiting.set_result(None)
            self._in_flight += 1
            self._place += 1
