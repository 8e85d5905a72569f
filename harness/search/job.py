"""One run of a campaign as data: a scenario with everything resolved, and a seed.

Owns: the job, and the key under which its record is found again. Does not own: running it (`runner`), or which jobs a
question needs (`sweep`, `arms`, `sensitivity`). Floor 5. Source: ours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from harness.config import Scenario, cost_file_path, load_scenario
from harness.config.views import flat_view
from harness.simulation.backends import BackendChoice
from harness.simulation.repeat import repeat_command

_KEY_DIGITS = 24


@dataclass(frozen=True)
class Arm:
    """A scenario with overrides: what a job runs once a seed.

    overrides: `section.key` -> text, as on the command line. given: the scenario's name or path, as the user gave it.
    backend: what the machine runs on.
    """

    scenario: Scenario
    overrides: Mapping[str, str]
    given: str
    backend: BackendChoice = field(default_factory=BackendChoice)

    @cached_property
    def fingerprint(self) -> str:
        """Names everything that the arm's outcome depends on, apart from the seed and the source code.

        Not the scenario's name: two names of one configuration are one experiment.
        """
        values = {key: value for key, value in flat_view(self.scenario).items() if "." in key}
        costs = cost_file_path(self.scenario.cost.file).read_bytes()
        known = msgspec.json.encode(values, order="sorted") + costs + self.backend.words.encode()
        return hashlib.sha256(known).hexdigest()[:_KEY_DIGITS]

    def __repr__(self) -> str:
        return f"Arm({self.scenario.name}, {dict(self.overrides)})"


@dataclass(frozen=True, slots=True)
class Job:
    """One run to make."""

    arm: Arm
    seed: int

    @property
    def key(self) -> str:
        return f"{self.arm.fingerprint}-s{self.seed}"

    @property
    def repeat(self) -> str:
        """The command that makes this run alone."""
        return repeat_command(self.arm.given, self.seed, self.arm.overrides) + self.arm.backend.words

    def __str__(self) -> str:
        """The job in a sentence for people: `hicache_bf16 with workload.sessions=30, seed 4`."""
        changed = ", ".join(f"{key}={value}" for key, value in self.arm.overrides.items())
        return f"{self.arm.scenario.name}{f' with {changed}' if changed else ''}, seed {self.seed}"


def load_arm(scenario: str, *overrides: Mapping[str, str], backend: BackendChoice | None = None) -> Arm:
    """An arm, checked before anything runs; later overrides win. Raises: ConfigError."""
    merged = {key: value for some in overrides for key, value in some.items()}
    return Arm(load_scenario(scenario, merged), merged, scenario, backend or BackendChoice())


def jobs_of(arms: Iterable[Arm], seeds: Iterable[int]) -> list[Job]:
    """Every arm with every seed; a configuration that occurs twice is run once."""
    unique = {arm.fingerprint: arm for arm in arms}
    return [Job(arm, seed) for seed in seeds for arm in unique.values()]
