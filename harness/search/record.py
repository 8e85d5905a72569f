"""What one run of a campaign leaves: the figures of its summary, and what its turns add to them.

Owns: the record's fields. Does not own: how a turn is judged or counted (`results`), where records lie (`log`).
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.search.job import Job
from harness.simulation.run import RunResult
from results.findings import Judgement, Origin, Verdict
from results.records import TurnRecord

StaleLayerCounts = dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One finished run.

    key, source: which configuration and seed, and which source code, made it.
    session_rate: None where no session could be judged.
    sessions_primary, sessions_secondary: corrupted sessions by their own stale reads, or only by pages of others.
    prompt_tokens_max: longest prompt that was sent. wall_s: of the machine that ran it; not part of the outcome.
    turns_by_stale_layers: layers whose keys the turn's prefill read too early -> judged turns, corrupted turns.
    run_name: name of the run's folder, where it was kept.
    ttft_ms_p50, ttft_ms_p95: of the turns that got a first token, in the run's own time. turns_per_s: from the first
    request to the last end. None in records of older versions.
    """

    key: str
    source: str
    scenario: str
    overrides: dict[str, str]
    seed: int
    sessions: int
    sessions_judged: int
    sessions_corrupted: int
    sessions_primary: int
    sessions_secondary: int
    session_rate: float | None
    turns: int
    turns_judged: int
    turns_corrupted: int
    kinds: dict[str, int]
    load_backs: int
    loaded_bytes: int
    host_hit_turns: int
    stale_reads: int
    torn_reads: int
    poisoned_reads: int
    decode_stale_reads: int
    at_rest_mismatches: int
    prompt_tokens_max: int
    turns_by_stale_layers: StaleLayerCounts
    verdict: str
    verdict_reason: str
    digest: str
    wall_s: float
    run_name: str | None = None
    ttft_ms_p50: float | None = None
    ttft_ms_p95: float | None = None
    turns_per_s: float | None = None


def record_of(job: Job, result: RunResult, source: str) -> RunRecord:
    """The record of a run that has come to its end."""
    summary = result.summary
    assert not summary.partial, f"{job} was interrupted: it has no record"
    return RunRecord(
        key=job.key,
        source=source,
        scenario=job.arm.scenario.name,
        overrides=dict(job.arm.overrides),
        seed=job.seed,
        sessions=summary.sessions,
        sessions_judged=summary.sessions_judged,
        sessions_corrupted=summary.sessions_corrupted,
        sessions_primary=summary.session_origins.get(Origin.PRIMARY, 0),
        sessions_secondary=summary.session_origins.get(Origin.SECONDARY, 0),
        session_rate=summary.session_rate,
        turns=summary.turns,
        turns_judged=summary.turns_judged,
        turns_corrupted=summary.turns_corrupted,
        kinds=dict(summary.kinds),
        load_backs=summary.load_backs,
        loaded_bytes=summary.loaded_bytes,
        host_hit_turns=summary.host_hit_turns,
        stale_reads=summary.stale_reads,
        torn_reads=summary.torn_reads,
        poisoned_reads=summary.poisoned_reads,
        decode_stale_reads=summary.decode_stale_reads,
        at_rest_mismatches=int(summary.counters.get("at_rest_mismatches", 0)),
        prompt_tokens_max=max((turn.prompt_tokens or 0 for turn in result.turns), default=0),
        turns_by_stale_layers=_by_stale_layers(result.turns, result.judgements),
        verdict=str(summary.verdict),
        verdict_reason=summary.verdict_reason,
        digest=summary.digest,
        wall_s=summary.wall_s,
        run_name=Path(summary.run_dir).name if summary.run_dir else None,
        ttft_ms_p50=_ttft_ms(result.turns, 50),
        ttft_ms_p95=_ttft_ms(result.turns, 95),
        turns_per_s=_turns_per_s(result.turns),
    )


def _ttft_ms(turns: Sequence[TurnRecord], percent: int) -> float | None:
    waits_ns = [turn.first_token_ns - turn.sent_ns for turn in turns if turn.first_token_ns is not None]
    return round(float(np.percentile(waits_ns, percent)) / 1e6, 3) if waits_ns else None


def _turns_per_s(turns: Sequence[TurnRecord]) -> float | None:
    ends_ns = [turn.finished_ns for turn in turns if turn.finished_ns is not None]
    if not ends_ns:
        return None
    return round(len(ends_ns) * 1e9 / (max(ends_ns) - min(turn.sent_ns for turn in turns)), 4)


def _by_stale_layers(turns: Sequence[TurnRecord], judgements: Sequence[Judgement]) -> StaleLayerCounts:
    """Turns that were poisoned are left out: they say nothing about how many layers it takes."""
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for turn, judgement in zip(turns, judgements, strict=True):
        machine = turn.machine
        if machine is None or machine.poisoned_reads or judgement.verdict is Verdict.UNKNOWN:
            continue
        counts[machine.stale_layers][0] += 1
        counts[machine.stale_layers][1] += judgement.is_corrupted
    return {layers: (judged, corrupted) for layers, (judged, corrupted) in sorted(counts.items())}
