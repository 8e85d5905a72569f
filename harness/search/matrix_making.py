"""Making a matrix: run what is missing, then write the record, also where it was interrupted.

Owns: the order of things. Does not own: the runs (`campaign`), the figures (`matrix_figures`), when it is enough
(`matrix_sequence`), the reports (`results.report`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.search.campaign import CampaignOptions, CampaignProgress, run_campaign
from harness.search.matrix import MatrixPlan
from harness.search.matrix_figures import (
    expectations_hold,
    matrix_arms,
    matrix_runs,
    matrix_verdict,
    named_comparisons,
    records_by_arm,
    seeds_that_decide,
)
from harness.search.matrix_sequence import Decider, whole_seeds
from harness.search.record import RunRecord
from harness.search.source import source_fingerprint
from harness.simulation import provenance
from results.matrix.folder import RUNS, write_matrix
from results.matrix.record import MatrixRecord
from results.report.words import plural
from results.verdict import RunVerdict


@dataclass(frozen=True, slots=True)
class MatrixRequest:
    """What to make. until_decided: stop as soon as every arm's answer is sure. repeat: the command that asks again."""

    plan: MatrixPlan
    folder: Path
    worker_count: int
    repeat: str
    until_decided: bool = False
    mixed_sources: bool = False


def make_matrix(
    request: MatrixRequest, on_progress: Callable[[CampaignProgress], None] = lambda _: None
) -> MatrixRecord:
    """Run what the folder does not have yet, and write `matrix.json` there.

    Effect: run folders under `runs/`, the campaign's log, the record. On Ctrl-C the record is written too, partial.
    Raises: KeyboardInterrupt; what `run_campaign` raises; ConfigError where `--until decided` has no control.
    """
    began = provenance.utc_now().isoformat(timespec="seconds")
    decider = Decider(request.plan) if request.until_decided else None
    so_far: Mapping[str, RunRecord] = {}

    def is_enough(records: Mapping[str, RunRecord]) -> bool:
        nonlocal so_far
        so_far = records
        return decider is not None and decider.is_enough(records)

    options = CampaignOptions(
        request.folder, request.worker_count, mixed_sources=request.mixed_sources, store=request.folder / RUNS
    )
    try:
        records = run_campaign(request.plan.jobs, options, on_progress, is_enough=is_enough)
    except KeyboardInterrupt:
        _write(request, so_far, began, decider, is_partial=True)
        raise
    return _write(request, records, began, decider, is_partial=False)


def _write(
    request: MatrixRequest, records: Mapping[str, RunRecord], began: str, decider: Decider | None, *, is_partial: bool
) -> MatrixRecord:
    record = matrix_record(request, records, began, decider, is_partial=is_partial)
    write_matrix(request.folder, record)
    return record


def matrix_record(
    request: MatrixRequest,
    records: Mapping[str, RunRecord],
    began: str,
    decider: Decider | None,
    *,
    is_partial: bool,
) -> MatrixRecord:
    """The record of what there is. With `--until decided` only the seeds that the test has looked at count."""
    plan = request.plan
    state = decider.state(records) if decider is not None else None
    seeds = plan.seeds if state is None else tuple(whole_seeds(plan, records))
    by_arm = records_by_arm(plan, records, seeds)
    comparisons = named_comparisons(plan, by_arm)
    arms = matrix_arms(plan, by_arm, comparisons)
    if decider is not None:
        arms, comparisons = decider.with_figures(arms, comparisons)
    runs = matrix_runs(by_arm)
    verdict, reason = matrix_verdict(arms)
    sources = {record.source for record in records.values()}
    if state is not None and not state.is_decided and verdict is RunVerdict.CLEAN:
        verdict, reason = (
            RunVerdict.UNKNOWN,
            f"{reason}, but not every answer is sure after {plural(len(seeds), 'seed')}",
        )
    return MatrixRecord(
        name=plan.name,
        started=began,
        finished=None if is_partial else provenance.utc_now().isoformat(timespec="seconds"),
        partial=is_partial,
        repeat=request.repeat,
        source=sources.pop() if len(sources) == 1 else source_fingerprint(),
        versions=provenance.versions(),
        host=provenance.host_facts(),
        git_revision=provenance.git_revision(),
        seeds=seeds,
        runs_wanted=len(plan.arms) * len(seeds),
        arms=arms,
        comparisons=comparisons,
        runs=runs,
        configuration_diff={key: dict(values) for key, values in plan.configuration_diff.items()},
        verdict=verdict,
        verdict_reason=reason,
        expectations_hold=expectations_hold(arms),
        notes=tuple(_notes(request, records, None if decider is not None else len(seeds), is_partial=is_partial)),
        sequential=state,
        wall_s=round(sum(run.wall_s for run in runs), 3),
    )


def _notes(
    request: MatrixRequest, records: Mapping[str, RunRecord], seed_count: int | None, *, is_partial: bool
) -> list[str]:
    """seed_count: None where it was not fixed beforehand."""
    plan, notes = request.plan, []
    if is_partial:
        notes.append(f"Interrupted: {len(records)} of {plural(len(plan.jobs), 'run')} are there.")
    missing = [name for name, control in plan.controls.items() if control is None and _reads_host_tier(plan, name)]
    if missing:
        notes.append(f"No control, an arm that differs in HiCache alone, for: {', '.join(missing)}.")
    enough = seeds_that_decide(len(plan.comparisons))
    if plan.comparisons and seed_count is not None and seed_count < enough:
        notes.append(
            f"{plural(seed_count, 'seed')} cannot decide any comparison: with"
            f" {plural(len(plan.comparisons), 'comparison')} it takes {enough} or more."
        )
    sources = {record.source for record in records.values()}
    if len(sources) > 1:
        notes.append(f"The runs were made by {len(sources)} states of the source code.")
    return notes


def _reads_host_tier(plan: MatrixPlan, name: str) -> bool:
    return plan.arms[name].scenario.cache.hicache
