"""Sessions that begin where another one's turn has ended.

Owns: who waits for whose turn, and that virtual time cannot slip by between that end and the waiter's waking.
Does not own: how long a fork waits afterwards (the plan says). Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from harness.load.clock import Clock
from harness.load.names import awake_key
from harness.load.workload.plan import SessionPlan

_Turn = tuple[int, int]


class ForkWaits:
    """A fork whose parent is not among the plans, or ends before the turn in question, starts by its own plan."""

    def __init__(self, plans: Sequence[SessionPlan], clock: Clock) -> None:
        self._clock = clock
        self._waited_for: dict[_Turn, list[int]] = {}
        turns = {plan.session: len(plan.turns) for plan in plans}
        for plan in plans:
            if plan.fork is not None and plan.fork.turn < turns.get(plan.fork.parent, 0):
                self._waited_for.setdefault((plan.fork.parent, plan.fork.turn), []).append(plan.session)
        self._ends: dict[int, asyncio.Future[int | None]] = {}

    def __repr__(self) -> str:
        return f"ForkWaits({self._waited_for})"

    async def parent_ended_ns(self, plan: SessionPlan) -> int | None:
        """When the parent's turn ended, waiting for that; None where nothing is to be waited for."""
        if not any(plan.session in sessions for sessions in self._waited_for.values()):
            return None
        awake = awake_key(plan.session)
        end = self._ends.setdefault(plan.session, asyncio.get_running_loop().create_future())
        if not end.done():
            self._clock.release(awake)
        return await end

    def turn_ended(self, session: int, turn: int) -> None:
        self._tell((session, turn), self._clock.now_ns)

    def session_ended(self, session: int) -> None:
        """Whoever still waits for a turn of this session waits in vain."""
        for waited in [waited for waited in self._waited_for if waited[0] == session]:
            self._tell(waited, None)

    def _tell(self, waited: _Turn, ended_ns: int | None) -> None:
        for fork in self._waited_for.get(waited, ()):
            end = self._ends.setdefault(fork, asyncio.get_running_loop().create_future())
            if not end.done():
                # Before the teller goes to sleep itself: from here on the fork is awake.
                self._clock.hold(awake_key(fork))
                end.set_result(ended_ns)
