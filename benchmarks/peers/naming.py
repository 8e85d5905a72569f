"""Which of the planted defects can be named by who sees the machine's trace, and not the endpoint only.

Owns: one run of a target in virtual time with the race detector beside it, and the laws over its trace. Does not own:
detector and laws (`kernels.races`). A black box has no trace: these names are the simulator's, and stand in a column of
their own.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from benchmarks.peers.serve import scenario_of
from benchmarks.peers.targets import Target
from harness.config import Scenario
from harness.races.served import serve_and_watch
from harness.simulation.run import RunRequest, Simulation, run_to_end
from harness.simulation.tracing import trace_output
from harness.zoo.keeping import trace_kept
from kernels.engine.shared import SharedModel
from kernels.races.search.killing import sentence

COMPANIONS: Final = ("prefill.r0.host.c4", "prefill.r0.host.index_k")


@dataclass(frozen=True, slots=True)
class Named:
    """reports: everything that detector and laws said. report: the first that says what is wrong; empty for none."""

    target: str
    reports: int
    report: str

    @property
    def is_named(self) -> bool:
        return bool(self.report)


def named(target: Target, seed: int, further: Mapping[str, str] = MappingProxyType({})) -> Named:
    """Effect: none that stays; the target's change of code is in place meanwhile. further: overrides."""
    scenario = scenario_of(target, further)
    with target.planted():
        groups = serve_and_watch(scenario, seed).groups
        reports = [sentence(finding) for group in groups for finding in group.findings]
        reports += _broken_laws(scenario, seed)
    wanted = [report for report in reports if target.cause and re.search(target.cause, report)]
    return Named(target.name, len(reports), wanted[0] if wanted else "")


def _broken_laws(scenario: Scenario, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "trace.jsonl")
        with trace_output(file, scenario.name, seed) as trace:
            run_to_end(Simulation(RunRequest(scenario, seed, SharedModel(), None, "", trace)))
        return [f"{breach.law}: {breach.what}" for breach in trace_kept(file, [COMPANIONS]).breaches]
