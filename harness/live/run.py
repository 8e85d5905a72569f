"""One live run: sessions against a server, every turn judged and stored as it ends.

Owns: the life of a run, also of one that is stopped. Does not own: load (`driving.py`), safety (`limits.py`,
`patience.py`), judging and storing (`keeping.py`), figures (`latency.py`, `outcome.py`). Floor 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from harness.live.arrivals import with_arrivals
from harness.live.beside import Beside, Served
from harness.live.clock import LagMeter
from harness.live.credentials import Scrubber
from harness.live.driving import TOKENS_SPENT, Driver, DriverSettings
from harness.live.keeping import Keeper
from harness.live.latency import client_lag, latency_of
from harness.live.limits import ErrorStorm, TokenBudget, refuse_costly
from harness.live.load.behaviour import Behaviour
from harness.live.observing import ObservedTransport
from harness.live.outcome import LiveResult, live_counters, live_json
from harness.live.patience import PatientTransport
from harness.live.request import LiveRequest
from harness.live.rounds import planned_tokens
from harness.live.scrape import Scraper, ServerEvidence, metrics_urls
from harness.live.serial.after_load import AfterLoad, Around, served_alone
from harness.live.tasks.rounds import TaskRounds
from harness.live.workloads.asked import rounds_of, workload_view
from harness.live.workloads.use import UseCounter
from harness.load.clock import WallClock
from harness.load.generator import LoadProgress
from harness.load.workload.digest import requests_digest
from harness.load.workload.planned import PlannedWorkload
from harness.simulation import provenance
from harness.simulation.run import RunProgress
from harness.transport.fast_loop import fast_loop
from results.records import Measured, RunManifest, TurnRecord
from results.serial.record import SerialRecord
from results.server_log import write_server_log
from results.summary import summarise


class LiveRun:
    """One run. `stop` may be called from a signal handler: what was done is kept and marked partial."""

    def __init__(self, request: LiveRequest) -> None:
        """Raises: ConfigError for what cannot be run; nothing has been sent then."""
        self._request = request
        rounds = rounds_of(request.files, request.workload, request.seed, request.load, request.max_tokens)
        self._rounds = TaskRounds(rounds, request.task)
        self._use = UseCounter(request.files)
        rng = np.random.default_rng([request.seed, 6])
        workload = self._rounds.build(0)
        plans = with_arrivals(workload.sessions, request.load, rng)
        if request.load.duration_s is None or request.load.kind != "closed":
            refuse_costly(sum(planned_tokens(plan, request.max_tokens) for plan in plans), request.limits)
        self._workload, self._plans, self._rng = workload, plans, rng
        self._use.more(workload)
        self._budget = TokenBudget(request.limits.tokens)
        self._storm = ErrorStorm()
        self._driver: Driver | None = None
        self._stopped_by: str | None = None
        self._is_interrupted = False
        self._lag = LagMeter()
        self._wall = WallClock()
        self._after: AfterLoad | None = None
        self._behaviour = Behaviour(request.load, plans, request.seed, self._wall)
        served = Served(
            request.transport, request.transport_options(), request.model, request.credentials,
            request.load.duration_s, request.seed,
        )  # fmt: skip
        self._beside = Beside(request.beside, served, self._wall, self._budget, self._give_up)

    def stop(self) -> None:
        """End early, as on Ctrl-C; `run` then returns what there is."""
        self._is_interrupted = True
        self._give_up("interrupted")
        self._beside.interrupt()

    async def run(self) -> LiveResult:
        """Until every session has ended, the time or the tokens are spent, or somebody stops it."""
        request = self._request
        began = provenance.utc_now()
        manifest = self._manifest(began.isoformat(timespec="seconds"))
        keeper = Keeper(request.store, manifest, self._workload, stamp=began.strftime("%Y%m%dT%H%M%SZ"))
        urls = metrics_urls(request.target.base_url, request.metrics_urls)
        try:
            scraping = Scraper(urls, clock=self._wall, on_sample=self._beside.sampled)
            async with self._lag, scraping as scraper, self._beside as beside:
                observed, patient = self._transports()
                try:
                    await self._drive(observed, keeper)
                finally:
                    await observed.close()
                load_s = round(self._wall.now_ns / 1e9, 3)
                await beside.load_ended()
                await beside.recover(scraper, is_interrupted=self._is_interrupted, is_cut=self._stopped_by is not None)
                evidence = await scraper.evidence()
            serial = await self._ask_again(keeper, urls, load_s)
            return self._finish(keeper, observed, patient, evidence, load_s, serial)
        finally:
            keeper.abandon()

    def _transports(self) -> tuple[ObservedTransport, PatientTransport]:
        request, wall = self._request, self._wall
        inner = request.transport(self._beside.options(), now_ns=lambda: wall.now_ns)
        patient = PatientTransport(self._beside.watched(inner), wall, self._rng, self._give_up)
        return ObservedTransport(patient, Scrubber(request.credentials.secrets)), patient

    async def _drive(self, transport: ObservedTransport, keeper: Keeper) -> None:
        request = self._request
        settings = DriverSettings(request.model, request.max_tokens, request.load)
        driver = Driver(
            self._plans, self._behaviour.over(transport), self._wall, settings=settings, pace=self._behaviour.pace,
            rounds=self._rounds, on_more=lambda workload: self._more(workload, keeper), budget=self._budget,
            on_turn=lambda turn, planned: self._ended(turn, planned, keeper),
            on_progress=lambda load: self._progress(load, keeper),
        )  # fmt: skip
        self._driver = driver
        if self._stopped_by is not None:
            driver.stop()
        await driver.run()
        if self._stopped_by is None:
            self._stopped_by = driver.ended_by
        if driver.ended_by is not None or len(self._plans) < len(self._workload.sessions):
            keeper.only_begun()

    async def _ask_again(self, keeper: Keeper, urls: tuple[str, ...], load_s: float) -> SerialRecord | None:
        """The serial check; none after a load that was cut short."""
        request, driver = self._request, self._driver
        if not request.serial.turns or driver is None or driver.is_stopped:
            return None
        around = Around(
            request.serial, request.transport, request.transport_options(), urls, request.credentials, request.model,
            request.max_tokens, request.seed, driver.plan_of, keeper.judge, self._budget, self._wall,
            lambda count: request.on_progress(RunProgress(driver.progress, keeper.corrupted, count)),
        )  # fmt: skip
        self._after = AfterLoad(around)
        folder = Path(keeper.path) if keeper.path else None
        return await self._after.run(keeper.turns, keeper.judgements, load_s=load_s, folder=folder)

    def _more(self, workload: PlannedWorkload, keeper: Keeper) -> None:
        self._use.more(workload)
        keeper.more(workload)

    def _ended(self, turn: TurnRecord, planned: int, keeper: Keeper) -> None:
        if self._driver is not None:
            self._use.ended(turn, self._driver.plan_of(turn.session))
        turn = self._behaviour.marker.marked(turn)
        self._beside.turn_ended(turn)
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
        if self._after is not None:
            self._after.stop(reason)
        elif self._driver is not None:
            self._driver.stop()

    def _finish(
        self, keeper: Keeper, observed: ObservedTransport, patient: PatientTransport, evidence: ServerEvidence,
        load_s: float, serial: SerialRecord | None,
    ) -> LiveResult:  # fmt: skip
        is_cut = self._driver is not None and self._driver.is_stopped
        lag = client_lag(self._lag.loop_ns, self._lag.kernel_ns, self._lag.cpu_share)
        latency = latency_of(keeper.turns, observed.gaps_ns(turn.request_id for turn in keeper.turns), lag)
        load = self._behaviour.figures(keeper.turns, keeper.judgements, keeper.aside)
        counters = live_counters(latency, lag, evidence, pauses=patient.pauses, in_flight_max=observed.in_flight_max)
        beside = self._beside.report(keeper.turns, keeper.judgements, evidence.counters, load_s)
        counters |= load.counters() | self._use.use.counters() | beside.counters()
        measured = Measured(keeper.turn_count, load_s, "", counters, served_alone(serial))
        summary = summarise(
            keeper.manifest, keeper.turns, keeper.judgements, measured=measured, run_dir=keeper.path, partial=is_cut,
            server_log=beside.log,
        )  # fmt: skip
        result = LiveResult(
            summary, keeper.manifest, keeper.turns, keeper.judgements, latency, lag, evidence,
            dict(observed.quirks.most_common()), self._budget.spent, self._stopped_by, self._is_interrupted, load,
            serial, self._use.use, beside,
        )  # fmt: skip
        if beside.log and keeper.path:
            write_server_log(Path(keeper.path), beside.log)
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
                "task": str(request.task),
                "client": {"transport": request.transport_name, "key": request.credentials.key_source},
                "workload": workload_view(request.files, msgspec.to_builtins(request.workload), request.load),
            },
            versions=provenance.versions(),
            host=provenance.host_facts(),
            git_revision=provenance.git_revision(),
            started=started,
            repeat=request.repeat,
            session_count=len(self._plans),
            times_are_virtual=False,
            max_tokens=request.max_tokens,
            requires_host_tier=request.beside.requires_host_tier,
            workload_digest=None if request.store is None else requests_digest(self._workload.sessions),
        )


def run_live(run: LiveRun, *, on_loop: Callable[[asyncio.AbstractEventLoop], None] = lambda _: None) -> LiveResult:
    """Run in an event loop of its own: uvloop's where there is one."""

    async def whole() -> LiveResult:
        on_loop(asyncio.get_running_loop())
        return await run.run()

    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        return runner.run(whole())
