"""One live run: sessions against a server, every turn judged and stored as it ends.

Owns: the life of a run, also of one that is stopped. Does not own: load (`driving.py`), safety (`limits.py`,
`patience.py`), judging and storing (`keeping.py`), figures (`latency.py`, `outcome.py`). Floor 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from harness.config.schema import WorkloadSpec
from harness.live.arrivals import LoadShape, with_arrivals
from harness.live.clock import LagMeter
from harness.live.credentials import Credentials, Scrubber
from harness.live.driving import TOKENS_SPENT, Driver, DriverSettings
from harness.live.keeping import Keeper
from harness.live.latency import client_lag, latency_of
from harness.live.limits import ErrorStorm, Limits, TokenBudget, refuse_costly
from harness.live.observing import ObservedTransport
from harness.live.outcome import LiveResult, live_counters, live_json
from harness.live.patience import PatientTransport
from harness.live.rounds import Rounds, planned_tokens
from harness.live.scrape import Scraper, ServerEvidence, metrics_urls
from harness.live.target import Target
from harness.load.clock import WallClock
from harness.load.generator import LoadProgress
from harness.simulation import provenance
from harness.simulation.run import MakeTransport, RunProgress
from harness.transport.contract import TransportOptions
from kernels.engine.shared import SharedModel
from results.records import Measured, RunManifest, TurnRecord
from results.summary import summarise


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a connection, and for the next byte."""

    connect_s: float = 10.0
    read_s: float = 120.0


@dataclass(frozen=True, slots=True, eq=False)
class LiveRequest:
    """What to run against whom. store: parent of the run folder; None keeps nothing. repeat: holds no secret."""

    target: Target
    model: str
    workload: WorkloadSpec
    load: LoadShape
    seed: int
    max_tokens: int
    transport_name: str
    transport: MakeTransport
    store: Path | None
    repeat: str
    credentials: Credentials = field(default_factory=Credentials)
    limits: Limits = field(default_factory=Limits)
    patience: Patience = field(default_factory=Patience)
    use_environment_proxies: bool = False
    metrics_urls: tuple[str, ...] = ()
    on_progress: Callable[[RunProgress], None] = field(default=lambda _: None)

    def watched_by(self, watch: Callable[[RunProgress], None]) -> LiveRequest:
        return replace(self, on_progress=watch)

    def transport_options(self) -> TransportOptions:
        return TransportOptions(
            self.target.base_url,
            api_key=self.credentials.api_key,
            headers=self.credentials.headers,
            connect_timeout_s=self.patience.connect_s,
            read_timeout_s=self.patience.read_s,
            use_environment_proxies=self.use_environment_proxies,
        )


class LiveRun:
    """One run. `stop` may be called from a signal handler: what was done is kept and marked partial."""

    def __init__(self, request: LiveRequest) -> None:
        """Raises: ConfigError for what cannot be run; nothing has been sent then."""
        self._request = request
        self._rounds = Rounds(request.workload, request.seed, SharedModel().reader.count_tokens)
        rng = np.random.default_rng([request.seed, 6])
        workload = self._rounds.build(0)
        plans = with_arrivals(workload.sessions, request.load, rng)
        if request.load.duration_s is None or request.load.kind != "closed":
            refuse_costly(sum(planned_tokens(plan, request.max_tokens) for plan in plans), request.limits)
        self._workload, self._plans, self._rng = workload, plans, rng
        self._budget = TokenBudget(request.limits.tokens)
        self._storm = ErrorStorm()
        self._driver: Driver | None = None
        self._stopped_by: str | None = None
        self._is_interrupted = False
        self._lag = LagMeter()
        self._wall = WallClock()

    def stop(self) -> None:
        """End early, as on Ctrl-C; `run` then returns what there is."""
        self._is_interrupted = True
        self._give_up("interrupted")

    async def run(self) -> LiveResult:
        """Until every session has ended, the time or the tokens are spent, or somebody stops it."""
        request = self._request
        began = provenance.utc_now()
        manifest = self._manifest(began.isoformat(timespec="seconds"))
        keeper = Keeper(request.store, manifest, self._workload, stamp=began.strftime("%Y%m%dT%H%M%SZ"))
        urls = metrics_urls(request.target.base_url, request.metrics_urls)
        try:
            async with self._lag, Scraper(urls) as scraper:
                observed, patient = self._transports()
                try:
                    await self._drive(observed, keeper)
                finally:
                    await observed.close()
                evidence = await scraper.evidence()
            return self._finish(keeper, observed, patient, evidence)
        finally:
            keeper.abandon()

    def _transports(self) -> tuple[ObservedTransport, PatientTransport]:
        request, wall = self._request, self._wall
        inner = request.transport(request.transport_options(), now_ns=lambda: wall.now_ns)
        patient = PatientTransport(inner, wall, self._rng, self._give_up)
        return ObservedTransport(patient, Scrubber(request.credentials.secrets)), patient

    async def _drive(self, transport: ObservedTransport, keeper: Keeper) -> None:
        request = self._request
        settings = DriverSettings(request.model, request.max_tokens, request.load)
        driver = Driver(
            self._plans, transport, self._wall, settings=settings, rounds=self._rounds, on_more=keeper.more,
            budget=self._budget, on_turn=lambda turn, planned: self._ended(turn, planned, keeper),
            on_progress=lambda load: self._progress(load, keeper),
        )  # fmt: skip
        self._driver = driver
        if self._stopped_by is not None:
            driver.stop()
        await driver.run()
        if self._stopped_by is None:
            self._stopped_by = driver.ended_by
        if driver.ended_by is not None:
            keeper.only_begun()

    def _ended(self, turn: TurnRecord, planned: int, keeper: Keeper) -> None:
        keeper.keep(turn)
        self._budget.count(turn, planned)
        reason = TOKENS_SPENT if self._budget.is_passed else self._storm.sentence(turn)
        if reason is not None:
            self._give_up(reason)

    def _progress(self, load: LoadProgress, keeper: Keeper) -> None:
        self._request.on_progress(RunProgress(load, keeper.corrupted))

    def _give_up(self, reason: str) -> None:
        if self._stopped_by is None or self._is_interrupted:
            self._stopped_by = reason
        if self._driver is not None:
            self._driver.stop()

    def _finish(
        self, keeper: Keeper, observed: ObservedTransport, patient: PatientTransport, evidence: ServerEvidence
    ) -> LiveResult:
        is_cut = self._driver is not None and self._driver.is_stopped
        lag = client_lag(self._lag.loop_ns, self._lag.kernel_ns, self._lag.cpu_share)
        latency = latency_of(keeper.turns, observed.gaps_ns, lag)
        counters = live_counters(latency, lag, evidence, pauses=patient.pauses, in_flight_max=observed.in_flight_max)
        measured = Measured(len(keeper.turns), round(self._wall.now_ns / 1e9, 3), "", counters)
        summary = summarise(
            keeper.manifest, keeper.turns, keeper.judgements, measured=measured, run_dir=keeper.path, partial=is_cut
        )
        result = LiveResult(
            summary, keeper.manifest, keeper.turns, keeper.judgements, latency, lag, evidence,
            dict(observed.quirks.most_common()), self._budget.spent, self._stopped_by, self._is_interrupted,
        )  # fmt: skip
        keeper.close(
            finished=provenance.utc_now().isoformat(timespec="seconds"),
            measured=measured,
            summary=live_json(result),
            partial=is_cut,
        )
        return result

    def _manifest(self, started: str) -> RunManifest:
        request = self._request
        return RunManifest(
            seed=request.seed,
            scenario=request.target.name,
            backend="live",
            configuration={
                "name": request.target.name,
                "summary": f"{request.load.words()} against {request.target.base_url}",
                "server": {"base_url": request.target.base_url, "model": request.model},
                "client": {"transport": request.transport_name, "key": request.credentials.key_source},
                "workload": msgspec.to_builtins(request.workload),
            },
            versions=provenance.versions(),
            host=provenance.host_facts(),
            git_revision=provenance.git_revision(),
            started=started,
            repeat=request.repeat,
            session_count=len(self._plans),
            times_are_virtual=False,
            max_tokens=request.max_tokens,
        )


def run_live(run: LiveRun, *, on_loop: Callable[[asyncio.AbstractEventLoop], None] = lambda _: None) -> LiveResult:
    """Run in an event loop of its own: uvloop's where there is one."""

    async def whole() -> LiveResult:
        on_loop(asyncio.get_running_loop())
        return await run.run()

    with asyncio.Runner(loop_factory=_fast_loop()) as runner:
        return runner.run(whole())


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        # There is none for Windows, and asyncio's own does.
        return None
    return uvloop.new_event_loop
