"""Which task a model masters by itself: the hardest of which it gets every answer right, asked one request at a time.

Owns: the order of the rungs, and how many right answers are enough. Does not own: the tasks (`planning`). Floor 5.
Source: ours. What a model fails alone says nothing about a server under load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from harness.config.schema import WorkloadSpec
from harness.live.credentials import Scrubber
from harness.live.serial.quiet import QuietServer
from harness.live.tasks.planning import first_turns, with_task
from harness.live.tasks.task import Task
from harness.load.clock import WallClock
from harness.load.generator import Generator, LoadOptions
from harness.load.workload import Workload, build_workload
from harness.load.workload.planned import PlannedSession
from harness.simulation import provenance
from harness.simulation.run import MakeTransport
from harness.transport.contract import ChatRequest, Reply, Transport, TransportOptions
from kernels.engine.shared import SharedModel
from results.findings import Verdict
from results.oracles.context import JudgeContext, judge_context
from results.oracles.judge import judge_turn
from results.records import TurnRecord
from results.stats.intervals import clopper_pearson

TRIES: Final = 4
SHORT_TOKENS: Final = 1_800
_WRONG_MAX: Final = 1


@dataclass(frozen=True, slots=True)
class Rung:
    """One task at one length of prompt. tokens: about the first message's."""

    task: Task
    tokens: int
    is_short: bool


@dataclass(frozen=True, slots=True)
class Climbed:
    """How a model did on a rung. error: of the last request that failed.

    doubtful: wrong answers besides those asked that had cached pages: the model's or the cache's.
    """

    rung: Rung
    asked: int
    right: int
    error: str | None = None
    doubtful: int = 0

    @property
    def is_mastered(self) -> bool:
        """All of a few, or all but one of twice as many, and one at least: a wrong answer from a cache is not held
        against the model, but speaks for nothing either."""
        wrong_max = _WRONG_MAX if self.asked >= 2 * TRIES else 0
        return self.right > 0 and self.right >= self.asked - wrong_max

    @property
    def words(self) -> str:
        found = clopper_pearson(self.right, self.asked)
        text = f"{self.right} of {self.asked} right alone ({100 * found.low:.0f}-{100 * found.high:.0f} %)"
        if self.doubtful:
            text += f"; {self.doubtful} more were wrong on cached pages, the model's doing or the cache's"
        return text if self.error is None else f"{text}; {self.error}"


@dataclass(frozen=True, slots=True)
class Answer:
    """is_doubtful: wrong, and pages of a cache were read for it."""

    is_right: bool
    is_doubtful: bool
    error: str | None

    @property
    def is_wrong(self) -> bool:
        return not self.is_right and not self.is_doubtful


class WorkloadOf(Protocol):
    def __call__(self, *, is_short: bool) -> WorkloadSpec: ...


@dataclass(frozen=True, slots=True, eq=False)
class Climber:
    """Asks a server. tries: for each rung; as many again where one of them was wrong. flush: no request finds pages of
    another's: the cache is emptied before each, or where the server does not do that, each has a salt of its own."""

    make: MakeTransport
    options: TransportOptions
    model: str
    scrubber: Scrubber
    seed: int
    max_tokens: int
    tries: int = TRIES
    flush: bool = True

    async def climb(
        self, rungs: Sequence[Rung], workload_of: WorkloadOf, *, on_rung: Callable[[Climbed], None] = lambda _: None
    ) -> list[Climbed]:
        """From the hardest down to the first that is mastered; that one is the last of the list."""
        found: list[Climbed] = []
        for rung in rungs:
            workload = build_workload(
                workload_of(is_short=rung.is_short), self.seed, SharedModel().reader.count_tokens
            )  # fmt: skip
            climbed = await self._rung(rung, workload)
            found.append(climbed)
            on_rung(climbed)
            if climbed.is_mastered:
                break
        return found

    async def _rung(self, rung: Rung, workload: Workload) -> Climbed:
        plans = first_turns(workload, rung.task, 2 * self.tries)
        context = _context(workload, rung.task, self.max_tokens)
        first = await self._ask(plans[: self.tries], context)
        found = _climbed(rung, first)
        if self.tries < 2 * TRIES and found.right == found.asked - _WRONG_MAX and len(plans) > self.tries:
            return _climbed(rung, [*first, *await self._ask(plans[self.tries :], context)])
        return found

    async def _ask(self, plans: Sequence[PlannedSession], context: JudgeContext) -> list[Answer]:
        """One after another, each as a session of one turn would be sent; no more once it cannot be mastered."""
        clock = WallClock()
        transport = _Scrubbed(self.make(self.options, now_ns=lambda: clock.now_ns), self.scrubber)
        turns: list[TurnRecord] = []
        answers: list[Answer] = []
        salt = f"kvrace-{provenance.utc_now().timestamp():.6f}"
        try:
            async with QuietServer(self.options, (), clock) as server:
                for plan in plans:
                    # Pages of an earlier request could be to blame for a wrong answer.
                    is_fresh = self.flush and await server.flush()
                    extra = {} if is_fresh or not self.flush else {"cache_salt": f"{salt}-{plan.session}"}
                    options = LoadOptions(model=self.model, max_tokens=self.max_tokens, extra=extra)
                    await Generator([plan], transport, clock, options=options, on_turn=turns.append).run()
                    answers.append(_answer(turns[-1], context))
                    if turns[-1].error is not None or sum(one.is_wrong for one in answers) > _WRONG_MAX:
                        break
        finally:
            await transport.close()
        return answers


def rungs_of(*, tokens: int, may_shorten: bool) -> list[Rung]:
    """Hardest first.

    Args:
        tokens: of the run's first messages. may_shorten: nobody has said how long prompts must be.
    """
    can_shorten = may_shorten and tokens > SHORT_TOKENS
    end = SHORT_TOKENS if can_shorten else tokens
    rungs = [Rung(Task.CALL, tokens, is_short=False)]
    if can_shorten:
        rungs.append(Rung(Task.CALL, SHORT_TOKENS, is_short=True))
    return rungs + [Rung(task, end, is_short=can_shorten) for task in (Task.NAMED_CALL, Task.WORD, Task.REPEAT)]


def _context(workload: Workload, task: Task, max_tokens: int) -> JudgeContext:
    asked = with_task(workload, task)
    sessions = [plan.record() for plan in asked.sessions]
    return judge_context(tools=asked.tool_schemas(), sessions=sessions, max_tokens=max_tokens)


def _answer(turn: TurnRecord, context: JudgeContext) -> Answer:
    is_right = judge_turn(turn, context).verdict is Verdict.OK
    return Answer(is_right, not is_right and bool(turn.cached_tokens), turn.error)


def _climbed(rung: Rung, answers: Sequence[Answer]) -> Climbed:
    asked = [one for one in answers if not one.is_doubtful]
    error = next((one.error for one in reversed(answers) if one.error is not None), None)
    return Climbed(rung, len(asked), sum(one.is_right for one in asked), error, len(answers) - len(asked))


class _Scrubbed:
    """A transport whose replies hold no secret."""

    def __init__(self, inner: Transport, scrubber: Scrubber) -> None:
        self._inner = inner
        self._scrubber = scrubber

    async def chat(self, request: ChatRequest) -> Reply:
        return self._scrubber.reply(await self._inner.chat(request))

    async def close(self) -> None:
        await self._inner.close()
