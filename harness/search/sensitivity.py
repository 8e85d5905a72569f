"""How much one scenario's rate depends on each number: one step down, one step up, all else as it is.

Owns: which jobs that needs, and its rows. Does not own: the list of numbers (`parameters`), running (`campaign`), files
(`sensitivity_files`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.search.campaign import Records
from harness.search.job import Arm, Job, jobs_of, load_arm
from harness.search.parameters import HEAD_STARTS_US, PARAMETERS
from harness.search.record import RunRecord
from harness.search.statistics import SeedStatistics, compare_seeds, seed_statistics
from results.stats.seeds import PairedDifference

STEP = 0.1
Kind = Literal["down", "up", "set"]
STEP_DOWN: Final = "down"
STEP_UP: Final = "up"
SET: Final = "set"


@dataclass(frozen=True, slots=True)
class Variant:
    """One number moved. kind: down, up, or set to a value of its own. change: `-10 %`, or that value."""

    parameter: str
    unit: str
    value: float
    kind: Kind
    change: str
    arm: Arm


@dataclass(frozen=True, slots=True)
class SensitivityPlan:
    """Everything that will be run, checked."""

    base: Arm
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    step: float

    @property
    def jobs(self) -> list[Job]:
        return jobs_of((self.base, *(variant.arm for variant in self.variants)), self.seeds)


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """difference: to the base, over the same seeds; None for the base itself, and below two judged seeds."""

    variant: Variant
    statistics: SeedStatistics
    difference: PairedDifference | None


def plan_sensitivity(
    scenario: str, seeds: Sequence[int], overrides: Mapping[str, str], *, step: float = STEP
) -> SensitivityPlan:
    """Raises: ConfigError where a moved number does not fit the scenario."""
    base = load_arm(scenario, overrides)
    variants = []
    for parameter in PARAMETERS:
        steps: tuple[tuple[Kind, float], ...] = ((STEP_DOWN, 1 - step), (STEP_UP, 1 + step))
        for kind, factor in steps:
            moved = load_arm(scenario, overrides, parameter.moved(base.scenario, factor))
            # Read back, not computed: counts are rounded, and the table says what was run.
            value = parameter.value(moved.scenario)
            variants.append(Variant(parameter.name, parameter.unit, value, kind, f"{100 * (factor - 1):+.3g} %", moved))
    for head_start_us in HEAD_STARTS_US:
        moved = load_arm(scenario, overrides, {"engine.head_start_us": str(head_start_us)})
        variants.append(
            Variant("head start of the load", "us", float(head_start_us), SET, f"{head_start_us:,} us", moved)
        )
    return SensitivityPlan(base, tuple(variants), tuple(seeds), step)


def sensitivity_rows(plan: SensitivityPlan, records: Records) -> tuple[SeedStatistics, list[SensitivityRow]]:
    """The base's statistics, and one row for each variant."""
    base = _of_arm(plan, plan.base, records)
    rows = []
    for variant in plan.variants:
        moved = _of_arm(plan, variant.arm, records)
        rows.append(SensitivityRow(variant, seed_statistics(moved), compare_seeds(moved, base)))
    return seed_statistics(base), rows


def _of_arm(plan: SensitivityPlan, arm: Arm, records: Records) -> list[RunRecord]:
    return [records[Job(arm, seed).key] for seed in plan.seeds]
