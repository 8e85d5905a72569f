"""The main scenario and its gated twin through each load balancer, in virtual time, beside our own router.

Owns: which runs, and what of them is kept. Does not own: the balancers (`balancers.py`). Source: ours. Time is virtual,
so a balancer that adds nothing, loses nothing and mixes nothing up leaves every turn as it was, to the last byte and
nanosecond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live.balancers import BALANCERS, PYTHON, door
from benchmarks.live.clock import now_s
from benchmarks.live.record import Part
from harness.config import load_scenario
from harness.simulation.run import Door, RunRequest, RunResult, Simulation, own_router, run_to_end
from kernels.engine.shared import SharedModel

_SCENARIOS = ("hicache_bf16", "hicache_bf16_gated")
_SEED = 22811


@dataclass(frozen=True, slots=True)
class Routers:
    name: str = "routers"
    python: Path = PYTHON
    packages: Sequence[str] = ("sglang-router", "smg")

    def measure(self, folder: Path) -> Sequence[Part]:
        shared = SharedModel()
        ways: dict[str, Door] = {"our own": own_router} | {name: door(name, folder) for name in BALANCERS}
        parts: dict[str, list[dict[str, object]]] = {name: [] for name in ways}
        for scenario in _SCENARIOS:
            ours: RunResult | None = None
            for name, way in ways.items():
                began_s = now_s()
                request = RunRequest(load_scenario(scenario, {}), _SEED, shared, None, "", door=way)
                result = run_to_end(Simulation(request))
                ours = ours or result
                kept = _kept(scenario, result, ours, wall_s=round(now_s() - began_s, 1))
                print(f"{name}: {kept}", flush=True)
                parts[name].append(kept)
        return [Part(name, {"seed": _SEED}, 0.0, 0.0, runs) for name, runs in parts.items()]


def _kept(scenario: str, result: RunResult, ours: RunResult, *, wall_s: float) -> dict[str, object]:
    summary = result.summary
    by_turn = {turn.key: turn for turn in result.turns}
    return {
        "what": scenario, "verdict": summary.verdict.value, "sessions": summary.sessions,
        "sessions_corrupted": summary.sessions_corrupted, "turns": summary.turns,
        "turns_corrupted": summary.turns_corrupted, "wall_s": wall_s,
        "turns_as_through_our_router": sum(by_turn.get(turn.key) == turn for turn in ours.turns),
    }  # fmt: skip
