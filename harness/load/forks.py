"""Requests that may not be sent before other sessions' turns have ended: forks of a conversation, and joins.

Owns: who waits for whose turn, and that virtual time cannot slip by between that end and the waiter's waking.
Does not own: how long a session pauses afterwards (the plan says). Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from harness.load.clock import Clock
from harness.load.names import awake_key
from harness.load.workload.planned import PlannedSession, TurnKey


class TurnWaits:
    """A turn that is not among the plans, or whose session has ended without it, is waited for by nobody."""

    def __init__(self, plans: Sequence[PlannedSession], clock: Clock) -> None:
        self._clock = clock
        self._open = {plan.session: len(plan.turns) for plan in plans}
        self._ended_ns: dict[TurnKey, int] = {}
        self._waiting: defaultdict[TurnKey, dict[int, asyncio.Future[int | None]]] = defaultdict(dict)

    def __repr__(self) -> str:
        return f"TurnWaits({len(self._ended_ns)} ended, {sum(map(len, self._waiting.values()))} waiting)"

    async def ended_ns(self, session: int, turns: Sequence[TurnKey]) -> list[int]:
        """When each of these turns ended, waiting for those that have not. Turns that never will are left out."""
        ends = [await self._one(session, turn) for turn in turns]
        return [end for end in ends if end is not None]

    async def _one(self, session: int, turn: TurnKey) -> int | None:
        if turn in self._ended_ns or turn[1] >= self._open.get(turn[0], 0):
            return self._ended_ns.get(turn)
        end: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting[turn][session] = end
        self._clock.release(awake_key(session))
        return await end

    def turn_ended(self, session: int, turn: int) -> None:
        self._ended_ns[session, turn] = self._clock.now_ns
        self._tell((session, turn))

    def session_ended(self, session: int) -> None:
        """Whoever still waits for a turn of this session waits in vain."""
        self._open[session] = 0
        for turn in [turn for turn in self._waiting if turn[0] == session]:
            self._tell(turn)

    def _tell(self, turn: TurnKey) -> None:
        for waiter, end in self._waiting.pop(turn, {}).items():
            if not end.done():
                # Before the teller goes to sleep itself: from here on the waiter is awake.
                self._clock.hold(awake_key(waiter))
                end.set_result(self._ended_ns.get(turn))
