"""What blocks of several servers come to: a matrix record, in which a block stands where a seed does.

Owns: how results of blocks become arms, runs and comparisons. Does not own: the record's fields (`results/matrix`),
intervals and tests (`results/stats`), running. Pure but for the provenance. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest
from harness.search.matrix_figures import matrix_verdict, seeds_that_decide
from harness.search.source import source_fingerprint
from harness.simulation import provenance
from results.comparison.contrast import student_bounds, why_no_interval
from results.matrix.folder import RUNS
from results.matrix.record import MatrixArm, MatrixRecord, MatrixRun, NamedComparison
from results.report.client_lag import lag_notes
from results.report.words import plural
from results.server_log import server_log_notes
from results.stats.arm_rate import arm_rate, small_sample_caveat
from results.stats.holm import holm
from results.stats.seeds import RESAMPLE_COUNT, paired_difference
from results.stats.zero import zero_bound
from results.verdict import RunVerdict

_RESAMPLING_SEED = 22811
_METHOD = "paired permutation test over blocks of time; the interval is Student's over blocks"


@dataclass(frozen=True, slots=True, eq=False)
class ArmBlock:
    """One arm's run in one block."""

    arm: str
    block: int
    result: LiveResult


def arms_record(
    requests: Sequence[LiveRequest], done: Sequence[ArmBlock], *, blocks: int, began: str, ended_by: str | None
) -> MatrixRecord:
    """The record of what there is. Every arm but the last is compared with the last."""
    names = [request.target.name for request in requests]
    by_arm = {name: [one for one in done if one.arm == name] for name in names}
    seed = requests[0].seed
    comparisons = _comparisons(names, by_arm)
    arms = tuple(
        _arm(request, by_arm[name], names[-1] if name != names[-1] else None, comparisons)
        for name, request in zip(names, requests, strict=True)
    )
    verdict, reason = matrix_verdict(arms)
    is_partial = ended_by is not None or len(done) < blocks * len(names)
    servers = {name: request.target.base_url for name, request in zip(names, requests, strict=True)}
    return MatrixRecord(
        name="-".join(names),
        started=began,
        finished=None if is_partial else provenance.utc_now().isoformat(timespec="seconds"),
        partial=is_partial,
        repeat=requests[0].repeat,
        source=source_fingerprint(),
        versions=provenance.versions(),
        host=provenance.host_facts(),
        git_revision=provenance.git_revision(),
        seeds=tuple(sorted({seed + one.block for one in done})),
        runs_wanted=blocks * len(names),
        arms=arms,
        comparisons=comparisons,
        runs=tuple(_run(one, seed) for name in names for one in by_arm[name]),
        configuration_diff={"server.base_url": dict(servers)},
        verdict=verdict,
        verdict_reason=reason,
        # Of a scenario one knows what it must show; of a server nobody does.
        expectations_hold=None,
        notes=(*_notes(len(comparisons), blocks, ended_by), *_lag(done), *_said(done)),
        wall_s=round(sum(one.result.summary.wall_s for one in done), 3),
    )


def _notes(comparison_count: int, blocks: int, ended_by: str | None) -> list[str]:
    notes = ["Each seed is one block of time: the arms ran it next to each other, in turns, with the same workload."]
    enough = seeds_that_decide(comparison_count)
    if blocks < enough:
        notes.append(f"{plural(blocks, 'block')} cannot decide any comparison; it takes {enough} or more.")
    if ended_by is not None:
        notes.append(f"Ended early: {ended_by}.")
    return notes


def _lag(done: Sequence[ArmBlock]) -> list[str]:
    """Of the block whose client was latest."""
    lag_ms = {one.result.lag.p99 or 0.0: one for one in done}
    if not lag_ms:
        return []
    latest = lag_ms[max(lag_ms)]
    where = f"In block {latest.block} of {latest.arm}: "
    return [where + sentence for sentence in lag_notes(latest.result.summary.counters)]


def _said(done: Sequence[ArmBlock]) -> list[str]:
    """What the servers' own logs said, and what was seen of their liveness."""
    return [
        f"Block {one.block} of {one.arm}: {words}"
        for one in done
        for words in (*server_log_notes(one.result.beside.log), *one.result.beside.liveness.bad_words())
    ]


def _run(one: ArmBlock, seed: int) -> MatrixRun:
    summary = one.result.summary
    return MatrixRun(
        scenario=one.arm,
        seed=seed + one.block,
        run_dir=f"{RUNS}/{Path(summary.run_dir).name}" if summary.run_dir else None,
        sessions=summary.sessions,
        sessions_judged=summary.sessions_judged,
        sessions_corrupted=summary.sessions_corrupted,
        session_rate=summary.session_rate,
        turns=summary.turns,
        turns_corrupted=summary.turns_corrupted,
        verdict=summary.verdict,
        verdict_reason=summary.verdict_reason,
        digest=summary.digest,
        wall_s=summary.wall_s,
    )


def _arm(
    request: LiveRequest, blocks: Sequence[ArmBlock], control: str | None, comparisons: Sequence[NamedComparison]
) -> MatrixArm:
    summaries = [one.result.summary for one in blocks]
    hits, units = [one.sessions_corrupted for one in summaries], [one.sessions_judged for one in summaries]
    rate, judged = arm_rate(hits, units), sum(units)
    rates = [one.session_rate for one in summaries if one.session_rate is not None]
    bound = zero_bound(judged, clusters=len(rates), design_effect=None) if judged and not sum(hits) else None
    verdict, reason = _verdict(blocks)
    against = next((one for one in comparisons if one.first == request.target.name), None)
    kinds = sum((Counter(one.kinds) for one in summaries), Counter[str]())
    return MatrixArm(
        scenario=request.target.name, summary=f"{request.load.words()} against {request.target.base_url}",
        expect="", expectation_held=None,
        seeds=len(blocks), seeds_judged=len(rates), seeds_corrupted=sum(count > 0 for count in hits),
        seeds_unknown=sum(one.verdict is RunVerdict.UNKNOWN for one in summaries),
        sessions=sum(one.sessions for one in summaries), sessions_judged=judged, sessions_corrupted=sum(hits),
        session_rate=rate.estimate if judged else None, session_ci95=(rate.low, rate.high) if judged else None,
        ci_method=rate.method, rate_min=min(rates, default=None), rate_max=max(rates, default=None),
        rate_bound=None if bound is None else bound.largest, session_bound=None if bound is None else bound.independent,
        zero=None if bound is None else bound.sentence(cluster="block"),
        caveat=small_sample_caveat(len(rates)) if judged else None, control=control,
        p_vs_control=None if against is None else against.p,
        p_vs_control_holm=None if against is None else against.p_holm,
        turns=sum(one.turns for one in summaries), turns_corrupted=sum(one.turns_corrupted for one in summaries),
        kinds=dict(sorted(kinds.items())), sessions_primary=0, sessions_secondary=0, host_hit_share=None, load_backs=0,
        loaded_bytes=0, stale_reads=0, torn_reads=0, poisoned_reads=0, verdict=verdict, verdict_reason=reason,
        configuration=blocks[0].result.manifest.configuration if blocks else {}, overrides={},
    )  # fmt: skip


def _verdict(blocks: Sequence[ArmBlock]) -> tuple[RunVerdict, str]:
    summaries = [one.result.summary for one in blocks]
    corrupted, judged = sum(s.sessions_corrupted for s in summaries), sum(s.sessions_judged for s in summaries)
    if corrupted and any(one.verdict is RunVerdict.CORRUPT for one in summaries):
        return RunVerdict.CORRUPT, f"{corrupted:,} of {judged:,} sessions are corrupted"
    told = next((one for one in blocks if one.result.summary.verdict is RunVerdict.CORRUPT), None)
    if told is not None:
        # Not by its replies: the server's own word, or what a warm-up showed.
        return RunVerdict.CORRUPT, f"block {told.block}: {told.result.summary.verdict_reason}"
    unknown = next((one for one in blocks if one.result.summary.verdict is RunVerdict.UNKNOWN), None)
    if unknown is not None:
        return RunVerdict.UNKNOWN, f"block {unknown.block}: {unknown.result.summary.verdict_reason}"
    if not blocks:
        return RunVerdict.UNKNOWN, "no block was run"
    return RunVerdict.CLEAN, f"no corruption in {plural(judged, 'session')} of {plural(len(blocks), 'block')}"


def _comparisons(names: Sequence[str], by_arm: dict[str, list[ArmBlock]]) -> tuple[NamedComparison, ...]:
    made = [_comparison(first, names[-1], by_arm) for first in names[:-1]]
    adjusted = holm([one.name for one in made], {one.name: one.p for one in made})
    return tuple(
        one if one.p is None else replace(one, p_holm=after.p_adjusted, decided=after.is_rejected)
        for one, after in zip(made, adjusted, strict=True)
    )


def _comparison(first: str, second: str, by_arm: dict[str, list[ArmBlock]]) -> NamedComparison:
    others = {one.block: one.result.summary.session_rate for one in by_arm[second]}
    pairs = [
        (mine, other)
        for one in by_arm[first]
        if (mine := one.result.summary.session_rate) is not None and (other := others.get(one.block)) is not None
    ]
    plain = NamedComparison(
        name=f"{first} - {second}", first=first, second=second, factor="server", seeds=len(pairs), difference=None,
        ci95=None, p=None, p_holm=None, smallest_p=None, seeds_higher=0, seeds_lower=0, decided=None,
        reason="fewer than two blocks could be judged in both arms",
    )  # fmt: skip
    if len(pairs) < 2:
        return plain
    rng = np.random.default_rng(_RESAMPLING_SEED)
    found = paired_difference([mine for mine, _ in pairs], [other for _, other in pairs], rng=rng)
    interval = student_bounds(found)
    return replace(
        plain,
        difference=found.difference,
        ci95=interval,
        p=found.p_permutation,
        smallest_p=max(2.0 ** (1 - found.seed_count), 2 / (RESAMPLE_COUNT + 1)),
        seeds_higher=found.seeds_higher,
        seeds_lower=found.seeds_lower,
        reason=_METHOD if interval is not None else why_no_interval(found, "block"),
    )
