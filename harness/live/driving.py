"""Sessions kept going: all of a load's plans at once, or slot by slot until the time or the tokens are spent.

Owns: which session begins when, and that none begins after the end. Does not own: a session's turns
(`harness/load/generator`). Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.live.arrivals import LoadShape
from harness.live.limits import TokenBudget
from harness.live.load.live_pace import LivePace
from harness.live.load.waiting import WaitingSessions
from harness.live.rounds import RoundSource, planned_tokens
from harness.load.clock import Clock
from harness.load.generator import Generator, LoadOptions, LoadProgress
from harness.load.workload.planned import PlannedSession, PlannedWorkload
from harness.transport.contract import Transport
from kernels.errors import KVRaceError
from results.records import TurnRecord

DURATION_SPENT = "the duration is over"
TOKENS_SPENT = "the token budget is spent"

OnTurn = Callable[[TurnRecord, int], None]


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """What all sessions have in common."""

    model: str
    max_tokens: int
    load: LoadShape


class Driver:
    """Runs once. on_turn: gets each record with the tokens that were planned for it. on_more: gets each later round.

    ended_by: why no further session was begun, where more could have been.
    """

    def __init__(
        self,
        plans: Sequence[PlannedSession],
        transport: Transport,
        clock: Clock,
        *,
        settings: DriverSettings,
        pace: LivePace,
        rounds: RoundSource,
        budget: TokenBudget,
        on_more: Callable[[PlannedWorkload], None],
        on_turn: OnTurn,
        on_progress: Callable[[LoadProgress], None],
    ) -> None:
        self.ended_by: str | None = None
        self.is_stopped = False
        self._plans = tuple(plans)
        self._waiting = WaitingSessions(plans, clock, rounds.spec.start_spread_s)
        self._pace = pace
        self._transport = transport
        self._clock = clock
        self._settings = settings
        self._rounds = rounds
        self._round = 0
        self._next: asyncio.Task[None] | None = None
        self._budget = budget
        self._on_more = on_more
        self._on_turn = on_turn
        self._on_progress = on_progress
        self._running: set[Generator] = set()
        self._ended = LoadProgress(0, 0)
        self._planned: dict[int, PlannedSession] = {}
        self._origin_ns = 0
        self._is_lasting = settings.load.kind == "closed" and settings.load.duration_s is not None

    def __repr__(self) -> str:
        return f"Driver({len(self._running)} running, {self._waiting}, ended_by={self.ended_by})"

    def plan_of(self, session: int) -> PlannedSession:
        """Of a session that was begun."""
        return self._planned[session]

    @property
    def progress(self) -> LoadProgress:
        whole = self._ended
        for generator in self._running:
            whole = _together(whole, generator.progress)
        return whole

    def stop(self) -> None:
        self.is_stopped = True
        for generator in self._running:
            generator.stop()

    async def run(self) -> None:
        """Until the last session has ended, or `stop`. Raises: what `on_turn` raises."""
        self._origin_ns = self._clock.now_ns
        if not self._is_lasting:
            await self._sessions(list(self._plans))
            return
        try:
            async with asyncio.TaskGroup() as group:
                for slot in range(self._settings.load.sessions):
                    group.create_task(self._slot(), name=f"slot {slot}")
        except BaseExceptionGroup as problems:
            # What the user should hear about (a full disk), without the group around it.
            expected, _ = problems.split(KVRaceError)
            raise (expected or problems).exceptions[0] from None
        finally:
            if self._next is not None:
                self._next.cancel()
                await asyncio.wait([self._next])

    async def _slot(self) -> None:
        while not self.is_stopped:
            plan = await self._next_plan()
            if plan is None:
                return
            await self._sessions([plan])
            self._waiting.session_ended(plan.session)

    async def _next_plan(self) -> PlannedSession | None:
        plan = None
        while plan is None:
            if self.is_stopped or self._is_over():
                return None
            plan = self._waiting.take()
            if plan is None:
                # One slot fetches the next round, the others wait for the same one.
                await asyncio.shield(self._fetch())
        if self._waiting.ready_count <= self._settings.load.sessions // 2:
            self._fetch()
        if not self._budget.reserve(planned_tokens(plan, self._settings.max_tokens)):
            self.ended_by = TOKENS_SPENT
            return None
        return plan

    def _fetch(self) -> asyncio.Task[None]:
        if self._next is None or self._next.done():
            self._next = asyncio.ensure_future(self._add_round())
        return self._next

    async def _add_round(self) -> None:
        self._round += 1
        workload = await asyncio.to_thread(self._rounds.build, self._round)
        self._on_more(workload)
        self._waiting.add(workload.sessions)

    def _is_over(self) -> bool:
        duration_s = self._settings.load.duration_s
        assert duration_s is not None
        if self.ended_by is None and self._clock.now_ns - self._origin_ns >= duration_s * 1e9:
            self.ended_by = DURATION_SPENT
        return self.ended_by is not None

    async def _sessions(self, plans: list[PlannedSession]) -> None:
        self._planned |= {plan.session: plan for plan in plans}
        settings = self._settings
        # One generator counts from its own beginning, several from the same one.
        origin_ns = self._origin_ns if self._is_lasting else None
        options = LoadOptions(model=settings.model, max_tokens=settings.max_tokens, origin_ns=origin_ns)
        generator = Generator(
            plans, self._transport, self._clock, options=options, on_turn=self._turn_ended, on_progress=self._moved,
            pace=self._pace,
        )  # fmt: skip
        self._running.add(generator)
        if self.is_stopped:
            generator.stop()
        try:
            await generator.run()
        finally:
            self._running.discard(generator)
            self._ended = _together(self._ended, generator.progress)

    def _turn_ended(self, turn: TurnRecord) -> None:
        self._waiting.turn_ended(turn.key)
        self._pace.turn_ended()
        plan = self._planned[turn.session]
        self._on_turn(turn, plan.prompt_tokens(turn.turn) + self._settings.max_tokens)

    def _moved(self, _: LoadProgress) -> None:
        self._on_progress(self.progress)


def _together(one: LoadProgress, other: LoadProgress) -> LoadProgress:
    return LoadProgress(
        one.sessions_total + other.sessions_total,
        one.turns_total + other.turns_total,
        one.sessions_started + other.sessions_started,
        one.sessions_ended + other.sessions_ended,
        one.turns_ended + other.turns_ended,
        one.turns_failed + other.turns_failed,
    )
