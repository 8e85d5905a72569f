"""What a load may change of its plans: the pauses inside a session, and when a turn that is due is sent.

Owns: the protocol, and the pace of the plans themselves. Does not own: other paces (`harness/live/load`).
Floor 5. Source: ours.
"""

from __future__ import annotations

from typing import Protocol

from harness.load.workload.planned import PlannedSession


class Pace(Protocol):
    def think_ns(self, plan: PlannedSession, turn: int) -> int:
        """The pause that follows this turn's reply."""

    async def intended_ns(self, session: int, turn: int, due_ns: int) -> int:
        """Wait until a turn that is due may be sent; when it was meant to be, for its latency counts from then.

        On virtual time nothing may be held back: time would stand still for ever.
        """


class PlannedPace:
    """Pauses as planned, and nothing held back."""

    def think_ns(self, plan: PlannedSession, turn: int) -> int:
        return plan.turns[turn].think_ns

    async def intended_ns(self, session: int, turn: int, due_ns: int) -> int:
        return due_ns
