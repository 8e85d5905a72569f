"""The arms of the incident over the same seeds: one table, and the comparisons that the claim rests on.

Owns: the standard arms, their rows, the difference of number formats, the ratio of host-hit shares with and without
the gate. Does not own: running (`campaign`), files (`arm_files`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.search.campaign import Records
from harness.search.job import Arm, Job, jobs_of, load_arm
from harness.search.record import RunRecord, StaleLayerCounts
from harness.search.statistics import SeedStatistics, compare_seeds, seed_statistics, stale_layer_counts
from kernels.errors import ConfigError
from results.stats.seeds import PairedDifference

STANDARD_ARMS = ("hicache_bf16", "hicache_fp8", "hicache_bf16_gated", "off_bf16", "off_fp8")
"""The incident, the same with the smaller format, the fix, and both formats without the host tier."""
FORMATS = ("hicache_bf16", "hicache_fp8")
GATE = ("hicache_bf16_gated", "hicache_bf16")


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """Everything that will be run, checked. arms: by scenario, in the order of the table."""

    arms: Mapping[str, Arm]
    seeds: tuple[int, ...]

    @property
    def jobs(self) -> list[Job]:
        return jobs_of(self.arms.values(), self.seeds)


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm. rates: by seed, None where a seed could not be judged."""

    scenario: str
    statistics: SeedStatistics
    rates: dict[int, float | None]
    stale_layers: StaleLayerCounts


@dataclass(frozen=True, slots=True)
class ArmTable:
    """All arms, and what they say together; None where an arm that it needs was not run.

    formats: bf16 minus fp8, by seed. host_hit_ratio: host-hit share of the gated arm to that of the ungated one.
    """

    rows: tuple[ArmRow, ...]
    seeds: tuple[int, ...]
    formats: PairedDifference | None
    host_hit_ratio: float | None


def plan_arms(scenarios: Sequence[str], seeds: Sequence[int], overrides: Mapping[str, str]) -> ArmPlan:
    """Raises: ConfigError for a scenario or an override that does not fit, and for an arm named twice."""
    twice = next((name for name in scenarios if scenarios.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"--scenarios names {twice} twice", key="--scenarios", value=twice)
    return ArmPlan({name: load_arm(name, overrides) for name in scenarios}, tuple(seeds))


def arm_table(plan: ArmPlan, records: Records) -> ArmTable:
    """The table, from the records of all jobs of the plan."""
    by_arm = {name: [records[Job(arm, seed).key] for seed in plan.seeds] for name, arm in plan.arms.items()}
    rows = {name: _row(name, of_arm) for name, of_arm in by_arm.items()}
    has_formats = all(name in by_arm for name in FORMATS)
    return ArmTable(
        rows=tuple(rows.values()),
        seeds=plan.seeds,
        formats=compare_seeds(by_arm[FORMATS[0]], by_arm[FORMATS[1]]) if has_formats else None,
        host_hit_ratio=_ratio(*(rows[name].statistics.host_hit_share if name in rows else None for name in GATE)),
    )


def _row(scenario: str, records: Sequence[RunRecord]) -> ArmRow:
    return ArmRow(
        scenario=scenario,
        statistics=seed_statistics(records),
        rates={record.seed: record.session_rate for record in records},
        stale_layers=stale_layer_counts(records),
    )


def _ratio(gated: float | None, ungated: float | None) -> float | None:
    return None if gated is None or not ungated else gated / ungated
