"""The pace of a live load: its own think times, a trace at another speed, turns in an order.

Owns: putting these together for the generator. Does not own: each of them. Floor 5. Source: ours.
"""

from __future__ import annotations

from harness.live.load.order import OrderGate
from harness.live.load.think import ThinkTimes
from harness.load.clock import Clock
from harness.load.workload.planned import PlannedSession


class LivePace:
    """think: None for the plan's own pauses, which `time_scale` stretches. gate: None for no order."""

    def __init__(
        self, clock: Clock, *, think: ThinkTimes | None, time_scale: float, gate: OrderGate | None, seed: int
    ) -> None:
        self._clock = clock
        self._think = think
        self._time_scale = time_scale
        self._gate = gate
        self._seed = seed

    def __repr__(self) -> str:
        return f"LivePace({self._think}, x {self._time_scale:g}, {self._gate})"

    def think_ns(self, plan: PlannedSession, turn: int) -> int:
        if self._think is not None:
            return self._think.pause_ns(self._seed, plan.session, turn)
        return round(plan.turns[turn].think_ns * self._time_scale)

    async def intended_ns(self, session: int, turn: int, due_ns: int) -> int:
        if self._gate is None:
            return due_ns
        await self._gate(session, turn)
        return self._clock.now_ns

    def turn_ended(self) -> None:
        if self._gate is not None:
            self._gate.ended()
