"""The detector beside a served run: the whole model, real requests, virtual time.

Owns: a scenario made small without losing its loads, and what the detector saw. Does not own: the run (`simulation`),
the detector (`kernels.races`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.config import Scenario, load_scenario
from harness.config.checks import prompt_tokens_expected
from harness.simulation.run import RunRequest, Simulation, assembly_of, run_to_end
from kernels.engine.shared import SharedModel
from kernels.races.detector.detector import Detector
from kernels.races.naming.naming import Group, name_all

SESSIONS = 4
TURNS = 2
ROOM = 1.25
"""Longest prompts that fit the device pool: a second session must push the first one's pages out."""


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """What one served run showed. loads: load-backs; without any, nothing could have raced with a read."""

    scenario: Scenario
    seed: int
    detector: Detector
    groups: tuple[Group, ...]
    loads: int
    turns: int

    @property
    def is_exercised(self) -> bool:
        """Whether the host tier was used, or is not there to be used."""
        return self.loads > 0 or not self.scenario.cache.hicache


class _Watching(Detector):
    """A detector whose races say where in the code they are, also those that no small program shows."""

    wants_call_sites = True


def small_scenario(name: str, overrides: Mapping[str, str]) -> Scenario:
    """A scenario with few sessions and a pool that is small to match; what the user overrides stays as it is.

    Raises: ConfigError.
    """
    few = {"workload.sessions": SESSIONS, "workload.turns_min": TURNS, "workload.turns_max": TURNS, **overrides}
    asked = load_scenario(name, few)
    if "cache.device_tokens" in overrides:
        return asked
    whole = load_scenario(name)
    share = asked.workload.sessions / whole.workload.sessions
    least = round(ROOM * prompt_tokens_expected(asked.workload))
    tokens = max(least, round(min(share, 1.0) * whole.cache.device_tokens))
    return load_scenario(name, {**few, "cache.device_tokens": tokens})


def serve_and_watch(scenario: Scenario, seed: int) -> Served:
    """Run a scenario to its end with a detector reading along. Nothing is stored."""
    detector = _Watching()
    simulation = Simulation(RunRequest(scenario, seed, SharedModel(), None, "", detector))
    result = run_to_end(simulation)
    loads = int(assembly_of(simulation).pair.counters()["load_backs"])
    return Served(scenario, seed, detector, tuple(name_all(detector)), loads, len(result.turns))
