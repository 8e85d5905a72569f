"""The arms of a report: of one run, or of a matrix whose record already holds the figures.

Owns: which figure of a summary or of a matrix record stands where. Does not own: the statistics, the record
(`results.matrix.record`). The figures of a matrix are taken as they stand there, so that its table and its report
never disagree. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from results.findings import CORRUPTION_KINDS
from results.matrix.record import MatrixArm, MatrixRecord, MatrixRun, NamedComparison
from results.report.gather import JudgedRun
from results.report.parts import ArmPart, ComparisonPart, KindRow, Proof, Rate
from results.report.proof import proof_of
from results.report.rates import NOTHING, by_seed, independent, with_zero
from results.stats.intervals import LEVEL, Interval

SESSION_UNIT = "session, as if those of one run were independent"
SEED_UNIT = "seed"


def arm_of_run(judged: JudgedRun) -> ArmPart:
    """A run on its own: its sessions are all there is to count."""
    summary = judged.summary
    configuration = judged.run.manifest.configuration
    kinds = [
        KindRow(
            kind,
            Rate(count, summary.turns_judged, count / summary.turns_judged, *summary.kind_ci95[kind], "over sessions"),
            independent(summary.session_kinds.get(kind, 0), summary.sessions_judged, seeds=1),
        )
        for kind, count in summary.kinds.items()
    ]
    return ArmPart(
        name=judged.arm,
        summary=str(configuration.get("summary", "")),
        expect=_text(configuration.get("expect")),
        expectation_held=None,
        verdict=summary.verdict,
        verdict_reason=summary.verdict_reason,
        seeds=(judged.seed,),
        unit=SESSION_UNIT,
        sessions=independent(summary.sessions_corrupted, summary.sessions_judged, seeds=1),
        turns=_turn_rate(judged),
        turns_total=summary.turns,
        turns_unknown=summary.turns_unknown,
        turns_by_text=summary.turns_judged - summary.turns_known,
        unknown_kinds=summary.unknown_kinds,
        seed_rates=(),
        kinds=tuple(kinds),
        origins=_some(summary.session_origins),
        proof=proof_of([judged]),
    )


def arm_of_matrix(arm: MatrixArm, record: MatrixRecord, runs: Sequence[JudgedRun]) -> ArmPart:
    """An arm of a matrix: rate, interval and p from the record; kinds, depth and proof from the runs that were kept."""
    entries = record.runs_of(arm.scenario)
    unknown: Counter[str] = Counter()
    for run in runs:
        unknown.update(run.summary.unknown_kinds)
    return ArmPart(
        name=arm.scenario,
        summary=arm.summary,
        expect=arm.expect or None,
        expectation_held=arm.expectation_held,
        verdict=arm.verdict,
        verdict_reason=arm.verdict_reason,
        seeds=tuple(entry.seed for entry in entries),
        unit=SEED_UNIT,
        sessions=_session_rate(arm),
        turns=_turns_of_matrix(entries, runs),
        turns_total=arm.turns,
        turns_unknown=sum(run.summary.turns_unknown for run in runs),
        turns_by_text=sum(run.summary.turns_judged - run.summary.turns_known for run in runs),
        unknown_kinds=dict(sorted(unknown.items())),
        seed_rates=tuple(entry.session_rate for entry in entries if entry.session_rate is not None),
        kinds=_kinds(runs) if runs else _kinds_of_record(arm),
        origins=_some({"primary": arm.sessions_primary, "secondary": arm.sessions_secondary}),
        proof=proof_of(runs) if runs else _proof_of_record(arm),
        control=arm.control,
        p=arm.p_vs_control,
        p_holm=arm.p_vs_control_holm,
        caveat=arm.caveat,
    )


def comparison_part(found: NamedComparison) -> ComparisonPart:
    low, high = found.ci95 or (None, None)
    if low == high:
        # An older version stored a point where no spread was seen.
        low = high = None
    return ComparisonPart(
        name=found.name,
        first=found.first,
        second=found.second,
        factor=found.factor,
        seeds=found.seeds,
        difference=found.difference,
        low=low,
        high=high,
        p=found.p,
        p_holm=found.p_holm,
        words=found.reason,
    )


def _turn_rate(judged: JudgedRun) -> Rate:
    summary = judged.summary
    if summary.turn_rate is None:
        return NOTHING
    interval = Interval(summary.turn_rate, *summary.turn_ci95, summary.turns_judged, LEVEL, "clustered by session")
    return with_zero(
        summary.turns_corrupted,
        summary.turns_judged,
        interval,
        clusters=summary.sessions_judged,
        unit="turn",
        cluster="session",
    )


def _turns_of_matrix(entries: Sequence[MatrixRun], runs: Sequence[JudgedRun]) -> Rate:
    """Over the turns that could be judged where every run was kept; else over all turns of the record."""
    if len(runs) == len(entries):
        found = [(run.summary.turns_corrupted, run.summary.turns_judged) for run in runs]
    else:
        found = [(entry.turns_corrupted, entry.turns) for entry in entries]
    return by_seed([events for events, _ in found], [units for _, units in found], unit="turn")


def _session_rate(arm: MatrixArm) -> Rate:
    if arm.session_rate is None or arm.session_ci95 is None:
        return NOTHING
    low, high = arm.session_ci95
    return Rate(
        arm.sessions_corrupted,
        arm.sessions_judged,
        arm.session_rate,
        low,
        high,
        arm.ci_method,
        arm.rate_bound,
        arm.zero,
    )


def _kinds(runs: Sequence[JudgedRun]) -> tuple[KindRow, ...]:
    """Over the runs that were kept; the seed is the cluster."""
    rows = []
    for kind in map(str, CORRUPTION_KINDS):
        turns = [run.summary.kinds.get(kind, 0) for run in runs]
        if sum(turns):
            sessions = [run.summary.session_kinds.get(kind, 0) for run in runs]
            judged = [run.summary.sessions_judged for run in runs]
            rows.append(
                KindRow(
                    kind,
                    by_seed(turns, [run.summary.turns_judged for run in runs], unit="turn"),
                    by_seed(sessions, judged, unit="session"),
                )
            )
    return tuple(rows)


def _kinds_of_record(arm: MatrixArm) -> tuple[KindRow, ...]:
    """No run was kept: turns can only be taken as if they were independent, and sessions were not counted by kind."""
    return tuple(
        KindRow(kind, independent(count, arm.turns, seeds=arm.seeds), NOTHING)
        for kind, count in arm.kinds.items()
        if count
    )


def _proof_of_record(arm: MatrixArm) -> Proof:
    """No run was kept: the sums of the record are all there is, and they tell nothing of overlap or evictions."""
    hits = None if arm.host_hit_share is None else round(arm.host_hit_share * arm.turns)
    return Proof(
        load_backs=arm.load_backs,
        loaded_bytes=arm.loaded_bytes,
        host_hit_turns=hits,
        turns=arm.turns,
        backups=None,
        evicted_device_pages=None,
        overlap=None,
        stale_reads=arm.stale_reads,
        torn_reads=arm.torn_reads,
        poisoned_reads=arm.poisoned_reads,
        decode_stale_reads=None,
        checks=(),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _some(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
