"""What a matrix came to: each arm over its seeds, the named comparisons after Holm, the verdict.

Owns: how records of runs become the arms and comparisons of a `MatrixRecord`. Does not own: the record and its file
(`results.matrix`), intervals and tests (`results.stats`), running. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, log2

import numpy as np

from harness.config.views import to_dict
from harness.search.job import Arm, Job
from harness.search.matrix import MatrixPlan, PlannedComparison
from harness.search.record import RunRecord
from harness.search.statistics import compare_seeds, seed_statistics
from results.comparison.contrast import student_bounds, why_no_interval
from results.matrix.folder import RUNS
from results.matrix.record import MatrixArm, MatrixRun, NamedComparison
from results.report.words import plural
from results.stats.arm_rate import CLUSTERS_ENOUGH, arm_rate, small_sample_caveat
from results.stats.clusters import design_effect
from results.stats.holm import ALPHA, holm
from results.stats.seeds import RESAMPLE_COUNT
from results.stats.zero import zero_bound
from results.verdict import RunVerdict

RecordsByArm = Mapping[str, Sequence[RunRecord]]

_METHOD = "paired permutation test over seeds; the interval is Student's over seeds"
_EXPECTED = {"corruption": RunVerdict.CORRUPT, "clean": RunVerdict.CLEAN}


def records_by_arm(plan: MatrixPlan, records: Mapping[str, RunRecord], seeds: Sequence[int]) -> RecordsByArm:
    """The records that there are, by arm, in the order of the seeds."""
    keys = {name: [Job(arm, seed).key for seed in seeds] for name, arm in plan.arms.items()}
    return {name: [records[key] for key in of_arm if key in records] for name, of_arm in keys.items()}


def matrix_runs(by_arm: RecordsByArm) -> tuple[MatrixRun, ...]:
    """Every run, arm after arm."""
    return tuple(
        MatrixRun(
            scenario=name,
            seed=record.seed,
            run_dir=None if record.run_name is None else f"{RUNS}/{record.run_name}",
            sessions=record.sessions,
            sessions_judged=record.sessions_judged,
            sessions_corrupted=record.sessions_corrupted,
            session_rate=record.session_rate,
            turns=record.turns,
            turns_corrupted=record.turns_corrupted,
            verdict=RunVerdict(record.verdict),
            verdict_reason=record.verdict_reason,
            digest=record.digest,
            wall_s=record.wall_s,
        )
        for name, records in by_arm.items()
        for record in records
    )


def named_comparisons(plan: MatrixPlan, by_arm: RecordsByArm) -> tuple[NamedComparison, ...]:
    """All comparisons of the plan; those that cannot be made yet count in Holm's correction all the same."""
    made = [_comparison(planned, by_arm) for planned in plan.comparisons]
    adjusted = holm([one.name for one in made], {one.name: one.p for one in made})
    return tuple(
        one if one.p is None else replace(one, p_holm=after.p_adjusted, decided=after.is_rejected)
        for one, after in zip(made, adjusted, strict=True)
    )


def matrix_arms(
    plan: MatrixPlan, by_arm: RecordsByArm, comparisons: Sequence[NamedComparison]
) -> tuple[MatrixArm, ...]:
    """All arms, in the order of the plan."""
    effect = _largest_effect(by_arm)
    return tuple(
        _arm(arm, by_arm[name], plan.controls[name], _against(name, plan.controls[name], comparisons), effect)
        for name, arm in plan.arms.items()
    )


def matrix_verdict(arms: Sequence[MatrixArm]) -> tuple[RunVerdict, str]:
    """Corrupt where any arm is, unknown where any could not be judged, else clean; with the reason."""
    for verdict, words in ((RunVerdict.CORRUPT, "corrupted"), (RunVerdict.UNKNOWN, "not judged")):
        names = [arm.scenario for arm in arms if arm.verdict is verdict]
        if names:
            return verdict, f"{len(names)} of {plural(len(arms), 'arm')} {words}: {', '.join(names)}"
    return RunVerdict.CLEAN, f"no corruption in {plural(len(arms), 'arm')}"


def expectations_hold(arms: Sequence[MatrixArm]) -> bool | None:
    """Whether every arm did what its scenario expects; one that did not weighs more than one that is not known."""
    held = [arm.expectation_held for arm in arms]
    return False if False in held else None if None in held else True


def seeds_that_decide(comparison_count: int, alpha: float = ALPHA) -> int:
    """Seeds from which on a permutation test of pairs can be significant at all after Holm's correction."""
    return ceil(log2(2 * max(1, comparison_count) / alpha))


def _comparison(planned: PlannedComparison, by_arm: RecordsByArm) -> NamedComparison:
    found = compare_seeds(by_arm[planned.first], by_arm[planned.second])
    plain = NamedComparison(
        name=planned.name, first=planned.first, second=planned.second, factor=planned.factor, seeds=0, difference=None,
        ci95=None, p=None, p_holm=None, smallest_p=None, seeds_higher=0, seeds_lower=0, decided=None,
        reason="fewer than two seeds could be judged in both arms",
    )  # fmt: skip
    if found is None:
        return plain
    interval = student_bounds(found)
    return replace(
        plain,
        seeds=found.seed_count,
        difference=found.difference,
        ci95=interval,
        p=found.p_permutation,
        smallest_p=max(2.0 ** (1 - found.seed_count), 2 / (RESAMPLE_COUNT + 1)),
        seeds_higher=found.seeds_higher,
        seeds_lower=found.seeds_lower,
        reason=_METHOD if interval is not None else why_no_interval(found, "seed"),
    )


def _against(name: str, control: str | None, comparisons: Sequence[NamedComparison]) -> NamedComparison | None:
    return next((one for one in comparisons if (one.first, one.second) == (name, control)), None)


def _arm(
    arm: Arm, records: Sequence[RunRecord], control: str | None, against: NamedComparison | None, effect: float | None
) -> MatrixArm:
    statistics = seed_statistics(records)
    rate = arm_rate([record.sessions_corrupted for record in records], [record.sessions_judged for record in records])
    verdict, reason = _arm_verdict(records)
    judged = sum(record.sessions_judged for record in records)
    is_zero = bool(judged) and statistics.sessions_corrupted == 0
    bound = zero_bound(judged, clusters=statistics.seeds_judged, design_effect=effect) if is_zero else None
    return MatrixArm(
        scenario=arm.scenario.name,
        summary=arm.scenario.summary,
        expect=arm.scenario.expect,
        expectation_held=None if verdict is RunVerdict.UNKNOWN else verdict is _EXPECTED.get(arm.scenario.expect),
        seeds=statistics.seeds,
        seeds_judged=statistics.seeds_judged,
        seeds_corrupted=statistics.seeds_corrupted,
        seeds_unknown=statistics.seeds_unknown,
        sessions=statistics.sessions,
        sessions_judged=judged,
        sessions_corrupted=statistics.sessions_corrupted,
        session_rate=rate.estimate if judged else None,
        session_ci95=(rate.low, rate.high) if judged else None,
        ci_method=rate.method,
        rate_min=statistics.rate_min,
        rate_max=statistics.rate_max,
        rate_bound=None if bound is None else bound.largest,
        session_bound=None if bound is None else bound.independent,
        zero=None if bound is None else bound.sentence(),
        caveat=small_sample_caveat(statistics.seeds_judged) if judged else None,
        control=control,
        p_vs_control=against.p if against is not None else None,
        p_vs_control_holm=against.p_holm if against is not None else None,
        turns=statistics.turns,
        turns_corrupted=statistics.turns_corrupted,
        kinds=statistics.kinds,
        sessions_primary=statistics.sessions_primary,
        sessions_secondary=statistics.sessions_secondary,
        host_hit_share=statistics.host_hit_share,
        load_backs=statistics.load_backs,
        loaded_bytes=statistics.loaded_bytes,
        stale_reads=statistics.stale_reads,
        torn_reads=statistics.torn_reads,
        poisoned_reads=statistics.poisoned_reads,
        verdict=verdict,
        verdict_reason=reason,
        configuration=to_dict(arm.scenario),
        overrides=dict(arm.overrides),
    )


def _arm_verdict(records: Sequence[RunRecord]) -> tuple[RunVerdict, str]:
    if not records:
        return RunVerdict.UNKNOWN, "no run was made"
    sessions = sum(record.sessions_judged for record in records)
    corrupted = sum(record.sessions_corrupted for record in records)
    if corrupted:
        return RunVerdict.CORRUPT, f"{corrupted:,} of {plural(sessions, 'session')} are corrupted"
    unknown = [record for record in records if record.verdict == RunVerdict.UNKNOWN]
    if unknown:
        first = unknown[0]
        what = f"{len(unknown)} of {plural(len(records), 'seed')} could not be judged"
        return RunVerdict.UNKNOWN, f"{what} (seed {first.seed}: {first.verdict_reason})"
    return RunVerdict.CLEAN, f"no corruption in {plural(sessions, 'session')} of {plural(len(records), 'seed')}"


def _largest_effect(by_arm: RecordsByArm) -> float | None:
    """How much sessions of one seed depend on each other, from the arms that show it; None where seeds are too few."""
    effects = []
    for records in by_arm.values():
        judged = [record for record in records if record.sessions_judged]
        hits = np.array([record.sessions_corrupted for record in judged], dtype=np.float64)
        sizes = np.array([record.sessions_judged for record in judged], dtype=np.float64)
        if len(judged) >= CLUSTERS_ENOUGH and 0 < hits.sum() < sizes.sum():
            effects.append(design_effect(hits, sizes))
    return max(effects, default=None)
