"""The check after a load: chosen turns alone, together, and alone again; then what they come to.

Owns: the order of the passes, and when the check ends early: time, tokens, a server that answers no more, the user.
Does not own: which turns (`choosing`), one request (`asking`), the verdict (`results/serial`). Floor 5. Source: ours;
the controls are those of peers.md section 3, row 1.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from harness.live.limits import TokenBudget
from harness.live.serial.asking import Asker, PlanOf
from harness.live.serial.choosing import Choice, Chosen
from harness.live.serial.quiet import QuietServer
from harness.live.serial.rescoring import Rescorer
from harness.live.serial.settings import SerialSettings
from harness.load.clock import Clock
from harness.transport.contract import Transport, TransportOptions
from results.findings import Judgement, Verdict
from results.oracles.divergence import Observed
from results.records import TurnRecord
from results.serial.baseline import LoadedTurns
from results.serial.chance import chance, may_be_the_model
from results.serial.judging import Judged, is_model_trusted, judge_serial
from results.serial.record import Freshness, Pass, SerialRecord, SerialReply
from results.serial.turns import Asked

_FAILED_MAX: Final = 3
"""Requests in a row without an answer: the server is gone."""


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """The server and how the run spoke to it. metrics_urls: where its gauges are. salt: of this run alone."""

    transport: Transport
    options: TransportOptions
    metrics_urls: tuple[str, ...]
    model: str
    max_tokens: int
    salt: str


@dataclass(slots=True)
class _Again:
    """Replies of one chosen turn."""

    chosen: Chosen
    replies: dict[Pass, SerialReply] = field(default_factory=dict)

    def of(self, *passes: Pass) -> tuple[Observed, ...]:
        found = (self.replies[one] for one in passes if one in self.replies)
        return tuple(Observed(reply.turn, reply.judgement) for reply in found)

    def asked(self) -> Asked:
        loaded = Observed(self.chosen.turn, self.chosen.judgement)
        alone, together = self.of(Pass.ALONE, Pass.ALONE_AGAIN), self.of(Pass.TOGETHER)
        return Asked(loaded, alone, together, self.chosen.is_sampled)


class SerialCheck:
    """Runs once, after the load. `stop` ends it early: what was asked by then is judged.

    on_reply: told after each reply how many there are.
    """

    def __init__(
        self, settings: SerialSettings, served: Served, plan_of: PlanOf, clock: Clock, *,
        judge: Callable[[TurnRecord], Judgement], budget: TokenBudget, rng: np.random.Generator,
        on_reply: Callable[[int], None],
    ) -> None:  # fmt: skip
        self.ended_by: str | None = None
        self.replies: list[SerialReply] = []
        self._settings = settings
        self._served = served
        self._plan_of = plan_of
        self._clock = clock
        self._judge = judge
        self._budget = budget
        self._rng = rng
        self._on_reply = on_reply
        self._again: list[_Again] = []
        self._failed = 0
        self._until_ns = 0.0
        self._quiet = "not asked"
        self._freshness = Freshness.KEPT
        self._work: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"SerialCheck({len(self._again)} turns, {len(self.replies)} replies, ended_by={self.ended_by})"

    def stop(self, reason: str) -> None:
        """End now, as on Ctrl-C: what is in the air is given up, what was answered is judged."""
        self._end(reason)
        if self._work is not None:
            self._work.cancel()

    def _end(self, reason: str) -> None:
        """No further request is sent; those in the air come to their end."""
        self.ended_by = self.ended_by or reason

    async def run(self, turns: Sequence[TurnRecord], judgements: Sequence[Judgement], *, load_s: float) -> SerialRecord:
        """Ask and judge. Raises: nothing that a server can cause."""
        settings, began_ns = self._settings, self._clock.now_ns
        self._until_ns = began_ns + settings.time_max_s(load_s) * 1e9
        choice = Choice(turns, judgements, self._rng, wrong_max=settings.wrong_max)
        asker = self._asker()
        loaded = _loaded(turns, judgements)
        await self._stoppable(self._passes(asker, choice, loaded))
        self._freshness = self._freshness if asker.has_salt else _unsalted(self._freshness)
        asked = [one.asked() for one in self._again if one.replies]
        judged = judge_serial(asked, loaded, self._freshness)
        is_wanted = settings.rescore and self.ended_by is None
        rescorer = Rescorer(asker, self._served.transport, self._budget, is_wanted=is_wanted)
        await self._stoppable(rescorer.all([one for one in asked if one.answers_alone], judged.turns))
        if rescorer.found:
            judged = judge_serial(asked, loaded, self._freshness, rescorer.found)
        return self._record(choice, judged, rescorer, began_ns=began_ns)

    async def _stoppable(self, work: Coroutine[Any, Any, None]) -> None:
        """Until it is done, or `stop`. Raises: what it raises."""
        self._work = asyncio.ensure_future(work)
        try:
            await asyncio.wait([self._work])
        finally:
            self._work.cancel()
        if not self._work.cancelled():
            self._work.result()

    def _asker(self) -> Asker:
        served = self._served
        return Asker(
            served.transport, self._plan_of, self._clock, model=served.model, max_tokens=served.max_tokens,
            salt=served.salt,
        )  # fmt: skip

    async def _passes(self, asker: Asker, choice: Choice, loaded: LoadedTurns) -> None:
        served, settings = self._served, self._settings
        async with QuietServer(served.options, served.metrics_urls, self._clock) as server:
            is_quiet, self._quiet = await server.wait()
            if not is_quiet:
                self._end("the server was never quiet")
                return
            if settings.flush:
                self._freshness = Freshness.FLUSHED if await server.flush() else Freshness.SALTED
            asker.salts(is_wanted=self._freshness is Freshness.SALTED)
            self._add(choice.first(settings.sample(choice.judged, len(choice.wrong))))
            await self._alone(asker, server, Pass.ALONE)
            if not is_model_trusted(self._answered()):
                # It fails some turns alone: a larger sample, so that two rates can be compared.
                self._draw(choice, settings.weak_sample(choice.judged))
                await self._alone(asker, server, Pass.ALONE)
            await self._together(asker)
            await self._alone(asker, server, Pass.ALONE_AGAIN)
            if wanted := self._larger_sample(choice, loaded):
                self._draw(choice, wanted)
                await self._alone(asker, server, Pass.ALONE)
                await self._alone(asker, server, Pass.ALONE_AGAIN)

    def _add(self, chosen: Sequence[Chosen]) -> None:
        self._again += [_Again(one) for one in chosen]

    def _draw(self, choice: Choice, wanted: int) -> None:
        """A sample of so many in all."""
        marked, more = choice.more(wanted, [one.chosen for one in self._again])
        for again, chosen in zip(self._again, marked, strict=True):
            again.chosen = chosen
        self._add(more)

    def _answered(self) -> list[Asked]:
        return [asked for asked in (one.asked() for one in self._again) if asked.answers_alone]

    def _larger_sample(self, choice: Choice, loaded: LoadedTurns) -> int:
        """How many sampled turns might rule out that a model erred by chance, where turns are wrong under load alone.

        None where they decide nothing, where the run has too few, or where the user has said how many.
        """
        asked = self._answered()
        wrong = [one for one in asked if one.was_wrong and one.judged_alone and not one.wrong_alone]
        is_open = bool(wrong) and all(may_be_the_model(one) for one in wrong) and is_model_trusted(asked)
        if not self._settings.is_timed or not is_open:
            return 0
        by_chance = chance(asked, loaded)
        needed = by_chance.turns_needed
        return 0 if by_chance.is_ruled_out or needed is None or needed > choice.judged else needed

    async def _alone(self, asker: Asker, server: QuietServer, how: Pass) -> None:
        """One after another, every turn that this pass has not asked yet, each on an empty cache.

        A broken cache is wrong without load: what came back from a host tier would be held against the model.
        """
        for again in self._again:
            if how in again.replies or not self._may_ask(asker, again):
                continue
            if self._freshness is Freshness.FLUSHED and not await server.flush():
                self._freshness = Freshness.KEPT
            await self._ask(asker, again, how)

    async def _together(self, asker: Asker) -> None:
        """All at once: what a batch does to the arithmetic, and whether a wrong reply comes again."""
        chosen = [again for again in self._again if again.of(Pass.ALONE) and self._may_ask(asker, again)]
        await asyncio.gather(*(self._ask(asker, again, Pass.TOGETHER) for again in chosen))

    def _may_ask(self, asker: Asker, again: _Again) -> bool:
        if self.ended_by is None and self._clock.now_ns >= self._until_ns:
            self._end("the check's time was over")
        if self.ended_by is None and self._failed >= _FAILED_MAX:
            self._end(f"{self._failed} requests in a row failed")
        if self.ended_by is None and not self._budget.reserve(asker.planned_tokens(again.chosen.turn)):
            self._end("the token budget was spent")
        return self.ended_by is None

    async def _ask(self, asker: Asker, again: _Again, how: Pass) -> None:
        loaded = again.chosen.turn
        turn = await asker.ask(loaded, salt=f"{how.name.lower()}-{loaded.request_id}")
        self._budget.count(turn, asker.planned_tokens(loaded))
        self._failed = 0 if turn.error is None else self._failed + 1
        reply = SerialReply(how, turn, self._judge(turn))
        again.replies[how] = reply
        self.replies.append(reply)
        self._on_reply(len(self.replies))

    def _record(self, choice: Choice, judged: Judged, rescorer: Rescorer, *, began_ns: int) -> SerialRecord:
        sampled = [turn for turn in judged.turns if turn.is_sampled]
        wrong = [turn for turn in judged.turns if turn.was_wrong]
        report = judged.report
        return SerialRecord(
            verdict=judged.verdict, reason=judged.reason, is_explained=judged.is_explained,
            is_trusted=judged.is_trusted, sampled=len(sampled),
            sample_wrong_alone=sum(turn.wrong_alone > 0 for turn in sampled), wrong=len(choice.wrong),
            wrong_asked=len(wrong), wrong_alone=sum(turn.wrong_alone > 0 for turn in wrong),
            serial_differs=report.serial_differs, load_repeats_differ=report.aa_differs,
            load_differs=report.load_differs, noise_nats=report.noise.logprob, noise_tokens=report.noise.token_count,
            freshness=self._freshness, quiet=self._quiet, rescoring=rescorer.note, turns=judged.turns,
            rescored=tuple(rescorer.found), base_rate=judged.base_rate, requests=len(self.replies) + rescorer.requests,
            wall_s=round((self._clock.now_ns - began_ns) / 1e9, 3), ended_by=self.ended_by,
        )  # fmt: skip


def _unsalted(freshness: Freshness) -> Freshness:
    return Freshness.KEPT if freshness is Freshness.SALTED else freshness


def _loaded(turns: Sequence[TurnRecord], judgements: Sequence[Judgement]) -> LoadedTurns:
    """Judged turns and wrong ones, by session."""
    judged: dict[int, int] = {}
    wrong: dict[int, int] = {}
    for turn, judgement in zip(turns, judgements, strict=True):
        if judgement.verdict is not Verdict.UNKNOWN:
            judged[turn.session] = judged.get(turn.session, 0) + 1
            wrong[turn.session] = wrong.get(turn.session, 0) + judgement.is_corrupted
    return LoadedTurns(list(judged.values()), list(wrong.values()))
