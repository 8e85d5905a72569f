"""The sessions that have not begun yet, where each slot takes the next one: a fork is passed over until it may begin.

Owns: the order, and when a fork's parent has come far enough. Does not own: slots (`harness/live/driving.py`), or forks
among sessions that all begin by themselves (`harness/load/forks.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from harness.load.clock import Clock
from harness.load.workload.planned import PlannedSession, TurnKey


class WaitingSessions:
    """A fork that would hold a slot while it waits would make a closed loop smaller than it was asked to be."""

    def __init__(self, plans: Iterable[PlannedSession], clock: Clock, spread_s: float) -> None:
        """spread_s: the longest that a session waits in its slot before it begins."""
        self._plans: list[PlannedSession] = []
        self._known: set[int] = set()
        self._ended_ns: dict[TurnKey, int] = {}
        self._over_ns: dict[int, int] = {}
        self._clock = clock
        self._spread_ns = round(spread_s * 1e9)
        self.add(plans)

    def __repr__(self) -> str:
        return f"WaitingSessions({len(self._plans)}, {self.ready_count} of them may begin)"

    @property
    def ready_count(self) -> int:
        return sum(self._is_ready(plan) for plan in self._plans)

    def add(self, plans: Iterable[PlannedSession]) -> None:
        for plan in plans:
            self._plans.append(plan)
            self._known.add(plan.session)

    def turn_ended(self, key: TurnKey) -> None:
        self._ended_ns[key] = self._clock.now_ns

    def session_ended(self, session: int) -> None:
        """Forks of it that still wait begin by now, whatever turn they wanted."""
        self._over_ns[session] = self._clock.now_ns

    def take(self) -> PlannedSession | None:
        """The first that may begin, ready to: it waits for nobody any more. None: all that are left must wait."""
        for place, plan in enumerate(self._plans):
            if self._is_ready(plan):
                del self._plans[place]
                return self._freed(plan)
        return None

    def _is_ready(self, plan: PlannedSession) -> bool:
        fork = plan.fork
        if fork is None or fork.parent not in self._known:
            return True
        return (fork.parent, fork.turn) in self._ended_ns or fork.parent in self._over_ns

    def _freed(self, plan: PlannedSession) -> PlannedSession:
        start_ns = min(plan.start_ns, self._spread_ns)
        if plan.fork is not None:
            ended_ns = self._ended_ns.get((plan.fork.parent, plan.fork.turn), self._over_ns.get(plan.fork.parent))
            if ended_ns is not None:
                start_ns = max(0, ended_ns + plan.fork.delay_ns - self._clock.now_ns)
        return replace(plan, start_ns=start_ns, fork=None)
