"""A matrix: arms that differ in named switches, over the same seeds, and the comparisons named before any run is made.

Owns: the default arms, which arm is whose control, which pairs are compared, and that arms can be compared at all. Does
not own: running (`campaign`), what the arms came to (`matrix_figures`), the stored record (`results.matrix`). Floor 5.
Source: ours. A pair is compared where it differs in one switch alone: only then a difference has one cause.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from harness.config.views import flat_view
from harness.search.job import Arm, Job, jobs_of, load_arm
from harness.simulation.backends import BackendChoice
from kernels.errors import ConfigError

DEFAULT_ARMS = ("hicache_bf16", "hicache_bf16_gated", "hicache_fp8", "off_bf16", "off_fp8")
"""HiCache on and off, with both formats of index-K, and the fix."""

HOST_TIER = "cache.hicache"
_READERS_OF_THE_HOST_TIER = ("cache.gate_index_k", "cache.index_k_store", "cache.ungated", "cache.io", "cache.layout")
"""Switches that mean nothing where nothing is loaded back."""
_NAME_DIGITS = 10


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """First minus second; factor: the one switch in which they differ."""

    first: str
    second: str
    factor: str

    @property
    def name(self) -> str:
        return f"{self.first} - {self.second}"


@dataclass(frozen=True, slots=True)
class MatrixPlan:
    """Everything that will be run and asked, checked. arms: by scenario, in the order of the table.

    controls: by scenario, the arm without a host tier that differs in nothing else; None where there is none.
    """

    arms: Mapping[str, Arm]
    seeds: tuple[int, ...]
    controls: Mapping[str, str | None]
    comparisons: tuple[PlannedComparison, ...]
    configuration_diff: Mapping[str, Mapping[str, object]]

    @property
    def jobs(self) -> list[Job]:
        return jobs_of(self.arms.values(), self.seeds)

    @property
    def name(self) -> str:
        """Depends on the question alone, seeds apart: more seeds go on where fewer ended."""
        prints = "".join(arm.fingerprint for arm in self.arms.values())
        return hashlib.sha256(prints.encode()).hexdigest()[:_NAME_DIGITS]


def plan_matrix(
    scenarios: Sequence[str],
    seeds: Sequence[int],
    overrides: Mapping[str, str],
    backend: BackendChoice | None = None,
) -> MatrixPlan:
    """Load every arm.

    Raises: ConfigError for anything that could not be run, for one configuration under two names, and for arms whose
    workloads differ: they would send other prompts for the same seed, and no seed could be paired.
    """
    loaded = [load_arm(name, overrides, backend=backend) for name in scenarios]
    arms = {arm.scenario.name: arm for arm in loaded}
    if len(arms) < len(loaded):
        twice = next(name for name in arms if sum(arm.scenario.name == name for arm in loaded) > 1)
        raise ConfigError(f"--arms names {twice} twice", key="--arms", value=twice)
    _refuse_other_workloads(arms)
    _refuse_equal_arms(arms)
    flat = {name: _switches(arm) for name, arm in arms.items()}
    comparisons = tuple(_compared(flat))
    return MatrixPlan(
        arms=arms,
        seeds=tuple(seeds),
        controls={name: _control(name, comparisons) for name in arms},
        comparisons=comparisons,
        configuration_diff=_differing(flat),
    )


def _refuse_other_workloads(arms: Mapping[str, Arm]) -> None:
    first, *others = arms
    mine = _workload(arms[first])
    for other in others:
        theirs = _workload(arms[other])
        keys = [key for key in mine if mine[key] != theirs[key]]
        if keys:
            what = f"{first} and {other} have different workloads, so their seeds cannot be paired"
            values = ", ".join(f"{key} {mine[key]} against {theirs[key]}" for key in keys[:3])
            more = f" and {len(keys) - 3} keys more" if len(keys) > 3 else ""
            raise ConfigError(f"{what}: {values}{more}; compare arms of one workload", key="--arms", value=other)


def _refuse_equal_arms(arms: Mapping[str, Arm]) -> None:
    for (first, mine), (second, theirs) in combinations(arms.items(), 2):
        if mine.fingerprint == theirs.fingerprint:
            what = f"{first} and {second} are one configuration; an arm compared with itself says nothing"
            raise ConfigError(f"{what}, so leave one out", key="--arms", value=second)


def _workload(arm: Arm) -> dict[str, object]:
    return {key: value for key, value in flat_view(arm.scenario).items() if key.startswith("workload.")}


def _switches(arm: Arm) -> dict[str, object]:
    """The arm's keys; without a host tier, those of its readers are left out, for they are not in use."""
    flat = {key: value for key, value in flat_view(arm.scenario).items() if "." in key}
    if not flat[HOST_TIER]:
        flat |= dict.fromkeys(_READERS_OF_THE_HOST_TIER)
    return flat


def _compared(flat: Mapping[str, Mapping[str, object]]) -> Iterable[PlannedComparison]:
    for first, second in combinations(flat, 2):
        if not (flat[first][HOST_TIER] or flat[second][HOST_TIER]):
            # Nothing is loaded back in either, so nothing is claimed of their difference.
            continue
        keys = [key for key in flat[first].keys() | flat[second].keys() if _differs(flat, key, (first, second))]
        if HOST_TIER in keys:
            keys = [key for key in keys if key not in _READERS_OF_THE_HOST_TIER]
        if len(keys) == 1:
            # The control, the fix and the smaller format stand second, whatever the order of the table.
            is_turned = keys[0] == HOST_TIER and not flat[first][HOST_TIER]
            yield PlannedComparison(*((second, first) if is_turned else (first, second)), factor=keys[0])


def _control(scenario: str, comparisons: Sequence[PlannedComparison]) -> str | None:
    found = (one.second for one in comparisons if one.first == scenario and one.factor == HOST_TIER)
    return next(found, None)


def _differing(flat: Mapping[str, Mapping[str, object]]) -> dict[str, dict[str, object]]:
    keys = dict.fromkeys(key for values in flat.values() for key in values)
    return {
        key: {name: values.get(key) for name, values in flat.items()}
        for key in keys
        if _differs(flat, key, tuple(flat))
    }


def _differs(flat: Mapping[str, Mapping[str, object]], key: str, names: Sequence[str]) -> bool:
    return any(flat[name].get(key) != flat[names[0]].get(key) for name in names)
