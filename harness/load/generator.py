"""The load: every planned session as a task, all at once, turn after turn.

Owns: when each request is sent, what becomes of its reply's times, and that each turn which ended has one record.
Does not own: what is sent (`workload/`), how (`transport/`), the clock, or any judgement of a reply.
Floor 5. Source: facts/feasibility.md (the conductor's protocol); the rest is ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.load.clock import Clock
from harness.load.forks import TurnWaits
from harness.load.names import ROLES, awake_key, half_key, request_keys, request_name
from harness.load.pace import Pace, PlannedPace
from harness.load.turn_record import answered, unanswered
from harness.load.workload.planned import PlannedSession
from harness.transport.contract import ChatRequest, Reply, Stamps, Transport
from harness.transport.hang_up import HungUp
from kernels.errors import KVRaceError
from results.records import LoadMark, MachineEvidence, TurnRecord

Evidence = Callable[[str], MachineEvidence | None]
"""What the machine knows of a request by its id, asked once the reply is there; None where it cannot be known."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What all requests have in common. extra: further top-level fields of the body.

    origin_ns: what the times of the records count from; None: from the moment when the load begins.
    """

    model: str
    max_tokens: int | None = None
    stream: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    origin_ns: int | None = None


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far it has come. turns_failed: turns without a whole reply, which are among turns_ended."""

    sessions_total: int
    turns_total: int
    sessions_started: int = 0
    sessions_ended: int = 0
    turns_ended: int = 0
    turns_failed: int = 0

    @property
    def is_complete(self) -> bool:
        return self.turns_ended == self.turns_total


class Generator:
    """Runs once. A transport error ends its turn, and the session goes on with the next one.

    on_turn: gets each record as soon as the turn has ended; an error that it raises (a full disk) ends the run.
    on_progress: called after each start and end. pace: None for that of the plans.
    """

    def __init__(
        self,
        plans: Sequence[PlannedSession],
        transport: Transport,
        clock: Clock,
        *,
        options: LoadOptions,
        on_turn: Callable[[TurnRecord], None],
        evidence: Evidence = lambda _: None,
        on_progress: Callable[[LoadProgress], None] = lambda _: None,
        pace: Pace | None = None,
    ) -> None:
        self._plans = plans
        self._transport = transport
        self._clock = clock
        self._options = options
        self._on_turn = on_turn
        self._evidence = evidence
        self._on_progress = on_progress
        self._pace = PlannedPace() if pace is None else pace
        self._waits = TurnWaits(plans, clock)
        self._turns_total = sum(len(plan.turns) for plan in plans)
        self._begin_ns = self._origin_ns = 0
        self._started = self._ended = self._turns = self._failed = 0
        self._work: asyncio.Task[None] | None = None
        self._is_stopped = False

    def __repr__(self) -> str:
        return f"Generator({self.progress})"

    @property
    def progress(self) -> LoadProgress:
        return LoadProgress(
            sessions_total=len(self._plans),
            turns_total=self._turns_total,
            sessions_started=self._started,
            sessions_ended=self._ended,
            turns_ended=self._turns,
            turns_failed=self._failed,
        )

    def stop(self) -> None:
        """End early, for instance on Ctrl-C: `run` returns, and what was done stays done."""
        self._is_stopped = True
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> LoadProgress:
        """Until every session is through, or `stop`. Times count from this call.

        Raises: what `on_turn` raises; the conductor's errors.
        """
        self._begin_ns = self._clock.now_ns
        self._origin_ns = self._begin_ns if self._options.origin_ns is None else self._options.origin_ns
        # A task of its own, so that `stop` can be told from a cancellation of the caller.
        self._work = asyncio.ensure_future(self._all_sessions())
        if self._is_stopped:
            self._work.cancel()
        try:
            await asyncio.wait([self._work])
        except asyncio.CancelledError:
            self._work.cancel()
            await asyncio.wait([self._work])
            raise
        if not (self._work.cancelled() and self._is_stopped):
            _raise_cause(self._work)
        return self.progress

    async def _all_sessions(self) -> None:
        # Everybody joins before anybody runs, so that time cannot move past a session that has not begun.
        for plan in self._plans:
            self._clock.join(awake_key(plan.session))
        async with asyncio.TaskGroup() as group:
            for plan in self._plans:
                group.create_task(self._session(plan), name=awake_key(plan.session))
            group.create_task(self._clock.run(), name="clock")

    async def _session(self, plan: PlannedSession) -> None:
        awake = awake_key(plan.session)
        try:
            ready_ns, pause_ns = await self._beginning(plan)
            for turn, planned in enumerate(plan.turns):
                ready_ns = max([ready_ns, *await self._waits.ended_ns(plan.session, planned.waits_for)])
                due_ns = ready_ns + pause_ns
                await self._clock.sleep_until(due_ns, (plan.session, turn), awake=awake)
                due_ns = await self._pace.intended_ns(plan.session, turn, due_ns)
                if turn == 0:
                    self._started += 1
                    self._on_progress(self.progress)
                await self._turn(plan, turn, due_ns)
                ready_ns, pause_ns = self._clock.now_ns, self._pace.think_ns(plan, turn)
                self._waits.turn_ended(plan.session, turn)
            self._ended += 1
            self._on_progress(self.progress)
        finally:
            self._waits.session_ended(plan.session)
            self._clock.leave(awake)

    async def _beginning(self, plan: PlannedSession) -> tuple[int, int]:
        """What the first request counts from, and how long it waits after that."""
        if plan.fork is not None:
            for ended_ns in await self._waits.ended_ns(plan.session, [(plan.fork.parent, plan.fork.turn)]):
                return ended_ns, plan.fork.delay_ns
        return self._begin_ns, plan.start_ns

    async def _turn(self, plan: PlannedSession, turn: int, scheduled_ns: int) -> None:
        name, awake = request_name(plan.session, turn), awake_key(plan.session)
        options = self._options
        request = ChatRequest(
            request_id=name,
            model=options.model,
            messages=plan.messages(turn),
            tools=plan.tools,
            max_tokens=_lower(plan.turns[turn].max_tokens, options.max_tokens),
            stream=options.stream,
            extra={**options.extra, **plan.turns[turn].extra},
        )
        sent_ns = self._clock.now_ns
        for role in ROLES:
            self._clock.hold(half_key(name, role))
        self._clock.release(awake)
        try:
            reply = await self._transport.chat(request)
        finally:
            self._clock.hold(awake)
            for key in request_keys(name):
                self._clock.release(key)
        self._turns += 1
        self._failed += reply.error is not None and not isinstance(reply.error, HungUp)
        self._on_turn(self._record(plan, turn, reply, scheduled_ns=scheduled_ns, sent_ns=sent_ns))
        self._on_progress(self.progress)

    def _record(self, plan: PlannedSession, turn: int, reply: Reply, *, scheduled_ns: int, sent_ns: int) -> TurnRecord:
        origin_ns, limit = self._origin_ns, plan.turns[turn].max_tokens
        sent = unanswered(plan, turn, scheduled_ns=scheduled_ns - origin_ns, sent_ns=sent_ns - origin_ns)
        return replace(
            answered(sent, reply, self._times(reply)),
            machine=self._evidence(reply.served_as or sent.request_id),
            load=LoadMark(hung_up=reply.error.phase) if isinstance(reply.error, HungUp) else None,
            max_tokens=None if limit is None else _lower(limit, self._options.max_tokens),
        )

    def _times(self, reply: Reply) -> Stamps:
        """Virtual time is in the chunks; real time is when they came. Another machine's stamps mean nothing here."""
        stamps = reply.stamped if self._clock.is_virtual else reply.arrived
        return Stamps(
            *(None if time is None else time - self._origin_ns for time in (stamps.first_token_ns, stamps.end_ns))
        )


def _lower(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _raise_cause(work: asyncio.Task[None]) -> None:
    """The error that ended a group of tasks, without the group around it."""
    if work.cancelled():
        raise asyncio.CancelledError
    problem = work.exception()
    while isinstance(problem, BaseExceptionGroup):
        # What the user should hear about goes before what followed from it.
        expected, _ = problem.split(KVRaceError)
        problem = (expected or problem).exceptions[0]
    if problem is not None:
        raise problem
