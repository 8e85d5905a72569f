"""Running one scenario: sessions over real HTTP against the pair, every turn judged and stored as it ends.

Owns: the life of one run, also of one that is interrupted. Does not own: servers, load, judgement, storage. Floor 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.config import Scenario
from harness.config.views import to_dict
from harness.load.clock import Clock, WallClock
from harness.load.generator import Generator, LoadOptions, LoadProgress
from harness.load.workload import Workload, build_workload, refuse_oversized
from harness.load.workload.digest import requests_digest
from harness.pair.engines import ModelFacts
from harness.pair.pair import Pair, PairOptions
from harness.simulation import provenance
from harness.simulation.assembly import Assembly, assemble
from harness.simulation.backends import BackendChoice
from harness.simulation.records import machine_evidence
from harness.simulation.timing import timing_of
from harness.transport.contract import Transport, TransportOptions
from harness.transport.over_aiohttp import AiohttpTransport
from kernels.engine.shared import SharedModel
from kernels.substrate.trace import TraceSink
from results.findings import Judgement
from results.oracles.context import JudgeContext, judge_context
from results.oracles.judge import judge_turn
from results.records import MachineEvidence, Measured, RunManifest, TurnRecord
from results.store import RunWriter, create_run
from results.summary import RunSummary, summarise

MODEL = "kvrace-recall"


class MakeTransport(Protocol):
    """Makes a client inside a running loop; `AiohttpTransport` and `OpenAITransport` are such."""

    def __call__(self, options: TransportOptions, /, *, now_ns: Callable[[], int]) -> Transport: ...


Door = Callable[[Pair], AbstractAsyncContextManager[str]]
"""Opens a way to a pair that serves, and gives the base URL that the sessions take."""


@asynccontextmanager
async def own_router(pair: Pair) -> AsyncIterator[str]:
    yield pair.base_url


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come. corrupted: turns judged as corrupted so far.

    asked_again: replies of the check after a live load; None while the load goes on.
    """

    load: LoadProgress
    corrupted: int
    asked_again: int | None = None


@dataclass(slots=True, eq=False)
class RunResult:
    """A finished or interrupted run. `manifest` is as stored; turns and judgements are in the order of their ends.

    failure: why the prefill engine died, where it did.
    """

    summary: RunSummary
    manifest: RunManifest
    turns: list[TurnRecord]
    judgements: list[Judgement]
    failure: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RunRequest:
    """What to run, and where to keep it.

    store: parent of the run folder; None keeps nothing (sweeps over hundreds of runs).
    repeat: the command that repeats it. shared: what runs of one process have in common.
    trace: a further sink for the machine's trace. transport: the client that the sessions use.
    door: what stands between them and the pair: its own router, or somebody else's in front of the same two workers.
    """

    scenario: Scenario
    seed: int
    shared: SharedModel
    store: Path | None
    repeat: str
    trace: TraceSink | None = None
    on_progress: Callable[[RunProgress], None] = field(default=lambda _: None)
    transport: MakeTransport = AiohttpTransport
    backend: BackendChoice = field(default_factory=BackendChoice)
    door: Door = own_router


class Simulation:
    """One run. `stop` may be called from a signal handler: what was done is kept and marked partial."""

    def __init__(self, request: RunRequest) -> None:
        """Raises: ConfigError for what cannot be run; nothing has been started then."""
        self._request = request
        scenario = request.scenario
        self._workload = build_workload(scenario.workload, request.seed, request.shared.reader.count_tokens)
        refuse_oversized(self._workload, scenario.cache, scenario.engine.max_new_tokens)
        self._assembly = assemble(scenario, request.seed, request.shared, trace=request.trace, backend=request.backend)
        self._turns: list[TurnRecord] = []
        self._judgements: list[Judgement] = []
        self._corrupted = 0
        self._generator: Generator | None = None
        self._is_stopped = False
        self._wall = WallClock()
        self._began_ns = self._wall.now_ns

    def stop(self) -> None:
        """End early; `run` then returns what there is."""
        self._is_stopped = True
        if self._generator is not None:
            self._generator.stop()

    async def run(self) -> RunResult:
        """Until every session has ended, or `stop`."""
        request, workload = self._request, self._workload
        began = provenance.utc_now()
        manifest = self._manifest(began.isoformat(timespec="seconds"))
        context = _context(workload, manifest)
        writer = None
        if request.store is not None:
            writer = create_run(
                request.store,
                stamp=began.strftime("%Y%m%dT%H%M%SZ"),
                manifest=manifest,
                tools=workload.tool_schemas(),
                sessions=[plan.record() for plan in workload.sessions],
            )
        try:
            await self._drive(context, writer)
            return self._finish(manifest, writer)
        finally:
            if writer is not None:
                writer.abandon()

    async def _drive(self, context: JudgeContext, writer: RunWriter | None) -> None:
        scenario, assembly = self._request.scenario, self._assembly
        facts = ModelFacts(name=MODEL, details={"page_size": assembly.pair.spec.geometry.page_tokens})
        options = PairOptions(seed=self._request.seed, model=facts)
        async with (
            timing_of(assembly.machine) as timing,
            Pair(assembly.pair.prefill, assembly.pair.decode, gate=timing.gate, options=options) as pair,
            self._request.door(pair) as base_url,
        ):
            transport = self._request.transport(TransportOptions(base_url), now_ns=lambda: timing.clock.now_ns)
            try:
                self._generator = self._load(transport, timing.clock, context, writer, scenario.engine.max_new_tokens)
                if self._is_stopped:
                    self._generator.stop()
                await timing.alongside(self._generator.run())
            finally:
                await transport.close()

    def _load(
        self, transport: Transport, clock: Clock, context: JudgeContext, writer: RunWriter | None, max_tokens: int
    ) -> Generator:
        def on_turn(turn: TurnRecord) -> None:
            judgement = judge_turn(turn, context)
            if writer is not None:
                writer.append(turn, judgement)
            self._turns.append(turn)
            self._judgements.append(judgement)
            self._corrupted += judgement.is_corrupted

        def on_progress(progress: LoadProgress) -> None:
            self._request.on_progress(RunProgress(progress, self._corrupted))

        return Generator(
            self._workload.sessions,
            transport,
            clock,
            options=LoadOptions(model=MODEL, max_tokens=max_tokens),
            on_turn=on_turn,
            evidence=self._evidence,
            on_progress=on_progress,
        )

    def _evidence(self, request_id: str) -> MachineEvidence | None:
        evidence = self._assembly.pair.evidence(request_id)
        return None if evidence is None else machine_evidence(evidence)

    def _manifest(self, started: str) -> RunManifest:
        request, scenario = self._request, self._request.scenario
        return RunManifest(
            seed=request.seed,
            scenario=scenario.name,
            backend=request.backend.name,
            configuration=to_dict(scenario),
            versions=provenance.versions(),
            host=provenance.host_facts(),
            git_revision=provenance.git_revision(),
            started=started,
            repeat=request.repeat,
            session_count=len(self._workload.sessions),
            exact_replies=True,
            requires_host_tier=scenario.cache.hicache,
            max_tokens=scenario.engine.max_new_tokens,
            workload_digest=None if request.store is None else requests_digest(self._workload.sessions),
        )

    def _finish(self, manifest: RunManifest, writer: RunWriter | None) -> RunResult:
        measured = Measured(
            turn_count=len(self._turns),
            wall_s=round((self._wall.now_ns - self._began_ns) / 1e9, 3),
            trace_digest=self._assembly.digest.hexdigest(),
            counters=dict(self._assembly.pair.counters()),
        )
        summary = summarise(
            manifest,
            self._turns,
            self._judgements,
            measured=measured,
            run_dir="" if writer is None else str(writer.path),
            partial=self._is_stopped,
        )
        if writer is not None:
            manifest = writer.close(
                finished=provenance.utc_now().isoformat(timespec="seconds"),
                measured=measured,
                summary=summary.as_json(),
                partial=self._is_stopped,
            )
        failure = self._assembly.pair.prefill.failure
        return RunResult(summary, manifest, self._turns, self._judgements, failure)


def _context(workload: Workload, manifest: RunManifest) -> JudgeContext:
    return judge_context(
        tools=workload.tool_schemas(),
        sessions=[plan.record() for plan in workload.sessions],
        planted=((plan.session, turn, planned.expected.record())
                 for plan in workload.sessions for turn, planned in enumerate(plan.turns)),
        exact_replies=manifest.exact_replies,
        max_tokens=manifest.max_tokens,
    )  # fmt: skip


def assembly_of(simulation: Simulation) -> Assembly:
    """The machine behind a run, for those who look at more than its records (ablation, tests)."""
    return simulation._assembly


def run_to_end(simulation: Simulation) -> RunResult:
    """Run it in an event loop of its own."""
    return asyncio.run(simulation.run())
