"""What a fix does to served runs: the rate of corrupted sessions over seeds, host hits, first tokens, throughput.

Owns: which runs are made, and the figures of one arm. Does not own: running them (`harness.search`), verdicts. Floor 5.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.search.campaign import Records
from harness.search.job import Arm, Job, jobs_of, load_arm
from harness.search.record import RunRecord
from harness.search.statistics import SeedStatistics, seed_statistics
from scenarios.fixes.catalogue import Fix

BEFORE = ""
"""The name of the arm without a fix."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One arm over its seeds. Times are virtual, and the means of the seeds' figures."""

    sessions: SeedStatistics
    ttft_ms_p50: float | None
    ttft_ms_p95: float | None
    turns_per_s: float | None


@dataclass(frozen=True, slots=True)
class FigurePlan:
    """The arms by fix, `BEFORE` among them, checked before anything runs. Fixes that are programs have none."""

    arms: Mapping[str, Arm]
    seeds: tuple[int, ...]

    @property
    def jobs(self) -> list[Job]:
        return jobs_of(self.arms.values(), self.seeds) if self.seeds else []

    def figures(self, records: Records) -> dict[str, Figures]:
        """By fix; empty where no seeds were asked for."""
        if not self.seeds:
            return {}
        return {name: _figures([records[Job(arm, seed).key] for seed in self.seeds]) for name, arm in self.arms.items()}


def plan_figures(source: str, overrides: Mapping[str, str], fixes: Iterable[Fix], seeds: Sequence[int]) -> FigurePlan:
    """Raises: ConfigError for settings that do not go together."""
    arms = {BEFORE: load_arm(source, overrides)}
    arms |= {fix.name: load_arm(source, overrides, fix.changes) for fix in fixes if fix.programs is None}
    return FigurePlan(arms, tuple(seeds))


def _figures(records: Sequence[RunRecord]) -> Figures:
    return Figures(
        seed_statistics(records),
        _mean([record.ttft_ms_p50 for record in records]),
        _mean([record.ttft_ms_p95 for record in records]),
        _mean([record.turns_per_s for record in records]),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
