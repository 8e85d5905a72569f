"""The main command: one scenario, one seed, one screen.

Owns: its options and what it prints. Does not own: the run (`simulation`), the screen (`results.report`). Floor 5.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.cli.options import overrides_from
from harness.cli.progress import RunWatcher, run_progress
from harness.config import Scenario, load_scenario
from harness.simulation.backends import BackendChoice
from harness.simulation.repeat import repeat_command
from harness.simulation.run import MakeTransport, RunRequest, RunResult, Simulation
from harness.simulation.tracing import trace_output
from harness.transport.over_aiohttp import AiohttpTransport
from harness.transport.over_openai import OpenAITransport
from kernels.engine.shared import SharedModel
from results.report.screen import screen
from results.report.witness import first_corrupted

DEFAULT_SCENARIO = "hicache_bf16"
RUNS_FOLDER = Path("results") / "runs"
INTERRUPTED = 130
TRANSPORTS: Mapping[str, MakeTransport] = {"aiohttp": AiohttpTransport, "openai": OpenAITransport}


def simulate(arguments: Mapping[str, Any]) -> int:
    """Run, print, and give the exit code. `arguments`: the command line's options by parameter name."""
    overrides = overrides_from(arguments)
    scenario = load_scenario(arguments["scenario"], overrides)
    backend = BackendChoice(arguments["backend"], bool(arguments["chaos"]))
    seed, is_json = int(arguments["seed"]), bool(arguments["json"])
    print(f"seed {seed}, scenario {scenario.name}: {scenario.summary}", file=sys.stderr if is_json else sys.stdout)
    sys.stdout.flush()
    with run_progress(is_quiet=bool(arguments["quiet"])) as watch:
        result = run_scenario(
            scenario,
            seed,
            store=Path(arguments["out"]),
            repeat=repeat_command(arguments["scenario"], seed, overrides) + backend.words,
            watch=watch,
            trace_file=arguments["trace"],
            transport=TRANSPORTS[arguments["transport"]],
            backend=backend,
        )
    if is_json:
        print(json.dumps(result.summary.as_json() | ({"failure": result.failure} if result.failure else {})))
    else:
        first = first_corrupted(result.turns, result.judgements)
        Console(width=None if sys.stdout.isatty() else 100, highlight=False, soft_wrap=False).print(
            screen(result.summary, result.manifest, first)
        )
        if result.failure:
            print(f"FAILED: the prefill engine died, {result.failure}")
    if result.summary.partial:
        return INTERRUPTED
    # A dead engine is what was found, whatever can be said of the replies that came before.
    return 1 if result.failure else result.summary.exit_code()


def run_scenario(
    scenario: Scenario,
    seed: int,
    *,
    store: Path | None,
    repeat: str,
    watch: RunWatcher,
    trace_file: str | None = None,
    transport: MakeTransport = AiohttpTransport,
    backend: BackendChoice = BackendChoice(),  # noqa: B008 - frozen
) -> RunResult:
    """One run in an event loop of its own. Ctrl-C ends it early, and what was done is kept."""

    async def run() -> RunResult:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, simulation.stop)
        loop.add_signal_handler(signal.SIGTERM, simulation.stop)
        return await simulation.run()

    with trace_output(trace_file, scenario.name, seed) as trace:
        request = RunRequest(scenario, seed, SharedModel(), store, repeat, trace, watch, transport, backend)
        simulation = Simulation(request)
        return asyncio.run(run())
