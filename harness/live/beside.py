"""What goes on beside a load: the server's logs are followed, hangs are watched for, a toxic neighbour comes and goes,
and afterwards the server is asked whether it is well.

Owns: the plan of it, the order, and the parts' life. Does not own: any of the parts (`server_logs`, `liveness`), the
load (`run.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from harness.live.command_secrets import shell_without_secrets
from harness.live.credentials import Credentials, Scrubber
from harness.live.limits import TokenBudget
from harness.live.liveness.neighbour import Blocks, blocks_of, neighbour_cost
from harness.live.liveness.record import LivenessReport, Neighbour, Recovery
from harness.live.liveness.recovery import Recoverer, RecoverySettings
from harness.live.liveness.stuck import StuckWatch
from harness.live.liveness.toxic import PROMPT_TOKENS, TOXIC, Poison, ToxicCommand, ToxicRequests
from harness.live.liveness.watching import HangWatch, WatchedTransport, stopped
from harness.live.observing import ObservedTransport
from harness.live.preflight import ask_once
from harness.live.scrape import Scraper
from harness.live.server_logs.attach import ORIGIN
from harness.live.server_logs.counted import findings_of_counters
from harness.live.server_logs.following import FollowedLogs
from harness.load.clock import WallClock
from harness.simulation import provenance
from harness.simulation.run import MakeTransport
from harness.transport.contract import Transport, TransportOptions
from results.findings import Judgement
from results.records import TurnRecord
from results.server_log import LogFinding

_BLOCKS_WANTED: Final = 16
_BLOCK_S_MIN: Final = 2.0
_BLOCK_S: Final = 10.0
_BLOCKS_MAX: Final = 4_096
_WATCH_S_MIN: Final = 0.05


@dataclass(frozen=True, slots=True)
class ToxicPlan:
    """kind: of `TOXIC`; command: of the user's, instead of one. block_s: None takes a sixteenth of the duration.

    prompt_tokens: of its long prompts, about.
    """

    kind: str | None
    command: str | None = None
    block_s: float | None = None
    prompt_tokens: int = PROMPT_TOKENS

    @property
    def name(self) -> str:
        """As it may be stored: a command without its secrets."""
        return self.kind if self.kind is not None else f"command '{shell_without_secrets(self.command or '')}'"


@dataclass(frozen=True, slots=True)
class BesidePlan:
    """Nothing of it is on by default.

    log_offset_s: of the zone of logs that do not say theirs; None: as their arrival shows. hang_timeout_s: 0 is off.
    recovery: None is off. requires_host_tier: a clean verdict needs the server's counters to show that it was used.
    """

    server_logs: tuple[Path, ...] = ()
    log_offset_s: float | None = None
    hang_timeout_s: float = 0.0
    recovery: RecoverySettings | None = None
    recovers_after_cuts_only: bool = False
    toxic: ToxicPlan | None = None
    requires_host_tier: bool = False


@dataclass(frozen=True, slots=True)
class BesideReport:
    """origin_s: the instant that the turns' times count from, since 1970; None where no turn told."""

    log: tuple[LogFinding, ...] = ()
    log_notes: tuple[str, ...] = ()
    origin_s: float | None = None
    liveness: LivenessReport = field(default_factory=LivenessReport)

    def as_json(self) -> dict[str, object]:
        liveness = {"verdict": self.liveness.verdict, **asdict(self.liveness)}
        log = {"findings": [asdict(one) for one in self.log], "notes": list(self.log_notes)}
        return {"liveness": liveness, "server_log": log, ORIGIN: self.origin_s}

    def counters(self) -> dict[str, int | float]:
        return self.liveness.counters()


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """The server, as the parts beside a load need it."""

    make: MakeTransport
    options: TransportOptions
    model: str
    credentials: Credentials
    duration_s: float | None
    seed: int


class Beside:
    """One run's. on_hang: told in a sentence when the run should end. Raises: ConfigError for a log that is none."""

    def __init__(
        self, plan: BesidePlan, served: Served, clock: WallClock, budget: TokenBudget, on_hang: Callable[[str], None]
    ) -> None:
        self._plan, self._served, self._clock, self._budget = plan, served, clock, budget
        scrubber = Scrubber(served.credentials.secrets)
        self._scrubber = scrubber
        self._logs = FollowedLogs(
            plan.server_logs, plan.log_offset_s, clock=clock, now_s=lambda: provenance.utc_now().timestamp(),
            scrub=scrubber.text,
        )  # fmt: skip
        self._watch = HangWatch(clock, plan.hang_timeout_s, on_hang)
        self._stuck = StuckWatch(plan.hang_timeout_s)
        self._rng = np.random.default_rng([served.seed, 7])
        self._origin_ns = 0
        self._blocks: Blocks | None = None
        self._poison: Poison | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._recovering: asyncio.Task[Recovery] | None = None
        self._recovery: Recovery | None = None

    def __repr__(self) -> str:
        return f"Beside({self._plan})"

    def options(self) -> TransportOptions:
        return replace(self._served.options, on_bytes=self._watch.watchdog.bytes_came)

    def watched(self, transport: Transport) -> Transport:
        return WatchedTransport(transport, self._watch)

    def sampled(self, now_ns: int, figures: Mapping[str, float]) -> None:
        self._watch.sampled(figures)
        self._stuck.sampled((now_ns - self._origin_ns) / 1e9, figures)

    def turn_ended(self, turn: TurnRecord) -> None:
        self._logs.turn_ended(turn)

    async def __aenter__(self) -> Beside:
        """From now on the times of turns count."""
        await self._logs.__aenter__()
        self._origin_ns = self._clock.now_ns
        self._watch.begin()
        self._tasks.append(asyncio.ensure_future(self._watch.run()))
        if self._plan.toxic is not None:
            self._tasks.append(asyncio.ensure_future(self._poisoned(self._plan.toxic)))
        return self

    async def __aexit__(self, *failure: object) -> None:
        try:
            await self.load_ended()
        finally:
            await self._logs.__aexit__(*failure)

    async def load_ended(self) -> None:
        """Nobody is watched, and nobody is poisoned, any more. Raises: what went wrong in doing so."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            await stopped(task)
        self._watch.close()
        self._stuck.close()

    async def recover(self, scraper: Scraper, *, is_interrupted: bool, is_cut: bool) -> None:
        """Is the server well? Nobody asks on Ctrl-C: who presses that wants to go."""
        settings, served = self._plan.recovery, self._served
        if settings is None or is_interrupted or (self._plan.recovers_after_cuts_only and not is_cut):
            return
        options = replace(served.options, read_timeout_s=settings.patience_s)
        recoverer = Recoverer(
            lambda: ask_once(served.make, options, served.model, self._scrubber), scraper.sample, scraper.first,
            self._clock, settings,
        )  # fmt: skip
        self._recovering = asyncio.ensure_future(recoverer.run())
        await asyncio.wait([self._recovering])
        if not self._recovering.cancelled():
            self._recovery = self._recovering.result()

    def interrupt(self) -> None:
        """As on Ctrl-C: nobody waits for the server's answer any more."""
        if self._recovering is not None:
            self._recovering.cancel()

    def report(
        self,
        turns: Sequence[TurnRecord],
        judgements: Sequence[Judgement],
        counters: Mapping[str, int | float],
        wall_s: float,
    ) -> BesideReport:
        """counters: of the server, over the run."""
        silences = tuple(self._watch.silences)
        liveness = LivenessReport(
            self._plan.hang_timeout_s, silences, tuple(self._stuck.found), self._recovery,
            self._neighbour(turns, judgements, wall_s),
        )  # fmt: skip
        found = (*self._logs.findings(), *findings_of_counters(counters))
        return BesideReport(found, tuple(self._logs.notes()), self._logs.turns.origin_s, liveness)

    def _neighbour(
        self, turns: Sequence[TurnRecord], judgements: Sequence[Judgement], wall_s: float
    ) -> Neighbour | None:
        plan, poison = self._plan.toxic, self._poison
        if plan is None or poison is None or self._blocks is None:
            return None
        corrupted = frozenset(judgement.key for judgement in judgements if judgement.is_corrupted)
        return neighbour_cost(
            turns, corrupted, self._blocks, self._rng, toxic=self._scrubber.text(plan.name), requests=poison.sent,
            failed_requests=poison.failed, ended_s=wall_s - self._origin_ns / 1e9,
            note=self._scrubber.text(poison.note),
        )  # fmt: skip

    async def _poisoned(self, plan: ToxicPlan) -> None:
        duration_s = self._served.duration_s
        block_s = plan.block_s or (_BLOCK_S if duration_s is None else max(_BLOCK_S_MIN, duration_s / _BLOCKS_WANTED))
        self._blocks = blocks = blocks_of(block_s, block_s * _BLOCKS_MAX, self._rng)
        self._poison = poison = self._made(plan)
        for number in range(_BLOCKS_MAX):
            task = asyncio.ensure_future(poison.run()) if blocks.is_on(number) else None
            try:
                end_ns = self._origin_ns + round((number + 1) * block_s * 1e9)
                await self._clock.sleep_until(end_ns, (), awake="neighbour")
            finally:
                if task is not None:
                    await stopped(task)

    def _made(self, plan: ToxicPlan) -> Poison:
        if plan.kind is None:
            return ToxicCommand(plan.command or "")
        return ToxicRequests(
            TOXIC[plan.kind], self._served.model, self._toxic_client, self._clock, self._budget,
            prompt_tokens=plan.prompt_tokens,
        )  # fmt: skip

    def _toxic_client(self) -> Transport:
        # Cleaned before an error becomes a note: the sentence of an error is short, and the cut may go through a key.
        inner = self._served.make(self._served.options, now_ns=lambda: self._clock.now_ns)
        return ObservedTransport(inner, self._scrubber)
