"""Runs small enough for tests: six sessions whose pool holds about two of them.

Owns: the setting. Does not own: any expectation. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.config import Scenario, load_scenario
from harness.simulation.run import RunProgress, RunRequest, RunResult, Simulation
from kernels.engine.shared import SharedModel
from kernels.substrate.trace import TraceSink

SMALL: Mapping[str, object] = {
    "workload.sessions": 6,
    "workload.groups": 2,
    "workload.turns_min": 2,
    "workload.turns_max": 3,
    "workload.start_spread_s": 0.5,
    "workload.system_tokens": 1_200,
    "workload.first_message_tokens_min": 4_000,
    "workload.first_message_tokens_max": 5_000,
    "workload.decoys": 2,
    "workload.tool_result_log_mean": 6.0,
    "workload.tool_result_tokens_max": 600,
    "workload.fork_note_tokens": 400,
    "cache.device_tokens": 24_000,
    "cache.host_tokens": 200_000,
    "cache.decode_tokens": 100_000,
    "delays.h2d.index_k": "constant:1ms",
}


@dataclass(frozen=True)
class Incident:
    """A stored run of the bare arm, to its end, and what it told of its progress."""

    run: Simulation
    result: RunResult
    progress: list[RunProgress]


def small(name: str, **changes: object) -> Scenario:
    """A scenario in small. changes: `section__key`."""
    return load_scenario(name, {**SMALL, **{key.replace("__", "."): value for key, value in changes.items()}})


def simulation(
    scenario: Scenario,
    shared: SharedModel,
    *,
    seed: int = 3,
    store: Path | None = None,
    trace: TraceSink | None = None,
    on_progress: Callable[[RunProgress], None] = lambda _: None,
) -> Simulation:
    return Simulation(RunRequest(scenario, seed, shared, store, "run it again", trace, on_progress))
