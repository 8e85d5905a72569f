"""Stored runs and matrices to report on, written by the product's own writers from hand-made turns.

Owns: a story whose figures are known by construction. Floor: tests. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from results.matrix.folder import RUNS, write_matrix
from results.matrix.record import MatrixArm, MatrixRecord, MatrixRun, NamedComparison
from results.oracles.judge import judge_turns
from results.records import Measured, SessionRecord, TurnRecord
from results.store import create_run
from results.summary import RunSummary, summarise
from results.verdict import RunVerdict
from tests.results.builders import TOOLS, call, context, machine, manifest, said, stale_machine, turn

SALAD = (
    "graph the, vehicles of combines differ initial winner optional checks while possibly circuit destroy effectively"
)
SESSIONS, TURNS = 12, 4
COUNTERS = {"load_backs": 31, "loaded_bytes": 9_600_000_000, "backups": 40, "evicted_device_pages": 512}


def story(*, is_clean: bool = False) -> list[TurnRecord]:
    """Twelve sessions of four turns, two in flight at a time.

    One salad by a stale read in session 4, one damaged call by a poisoned page in session 9, one reply cut off in 11.
    """
    turns = []
    for session in range(SESSIONS):
        for number in range(TURNS):
            sent_ns = 1_000_000_000 * (session + 10 * number)
            changes: dict[str, Any] = {
                "scheduled_ns": sent_ns,
                "sent_ns": sent_ns,
                "first_token_ns": sent_ns + 250_000_000,
                "finished_ns": sent_ns + 1_500_000_000,
                "prompt_tokens": 20_000 + 1_000 * number + session,
                "raw": f'data: {{"reply": {session}}}\n\n',
            }
            record = turn(session, number, machine=machine(), **changes)
            if not is_clean and (session, number) == (4, 1):
                record = said(SALAD, session=4, number=1, machine=stale_machine(), **changes)
            elif not is_clean and (session, number) == (9, 2):
                poisoned = machine(poisoned_reads=31)
                record = turn(9, 2, tool_calls=(call(guests=44),), machine=poisoned, **changes)
            elif not is_clean and (session, number) == (11, 3):
                record = said("", session=11, number=3, finish_reason=None, machine=machine(), **changes)
            turns.append(record)
    return turns


def store(
    root: Path, turns: Sequence[TurnRecord], *, counters: dict[str, float] | None = None, is_closed: bool = True,
    **changes: Any,
) -> Path:  # fmt: skip
    """A run folder with these turns, judged by the oracles. changes: of the manifest."""
    count = 1 + max((turn.session for turn in turns), default=-1)
    sessions = [
        SessionRecord(number, group=0, turn_count=sum(turn.session == number for turn in turns))
        for number in range(count)
    ]
    fields = {"session_count": count, "exact_replies": True, "requires_host_tier": True} | changes
    begun = manifest(**fields)
    judgements = judge_turns(turns, context(exact_replies=begun.exact_replies, sessions=sessions))
    measured = Measured(len(turns), 12.5, "00ff", dict(COUNTERS if counters is None else counters))
    with create_run(root, stamp="20261129T175512Z", manifest=begun, tools=TOOLS, sessions=sessions) as writer:
        for record, judgement in zip(turns, judgements, strict=True):
            writer.append(record, judgement)
        if is_closed:
            summary = summarise(begun, turns, judgements, measured=measured, run_dir=str(writer.path))
            writer.close(finished="2026-11-29T17:55:30Z", measured=measured, summary=summary.as_json())
    return writer.path


def summary_of(path: Path, turns: Sequence[TurnRecord], **changes: Any) -> RunSummary:
    """What the story comes to, for the entries of a matrix."""
    begun = manifest(exact_replies=True, requires_host_tier=True, **changes)
    judgements = judge_turns(turns, context(exact_replies=True))
    measured = Measured(len(turns), 12.5, "00ff", dict(COUNTERS))
    return summarise(begun, turns, judgements, measured=measured, run_dir=str(path))


def store_matrix(root: Path) -> Path:
    """Two arms over two seeds: `broken` as in the story, `mended` clean. Figures of the record are made up on purpose,
    so that a report which counts again, instead of quoting the record, is found out."""
    entries, configuration = [], {"cache": {"gate_index_k": False, "index_k": "bf16"}}
    for arm, is_clean in (("broken", False), ("mended", True)):
        for seed in (1, 2):
            turns = story(is_clean=is_clean)
            path = store(root / RUNS, turns, scenario=arm, seed=seed)
            entries.append(_entry(arm, seed, path, summary_of(path, turns, scenario=arm, seed=seed)))
    mended = {"cache": {"gate_index_k": True, "index_k": "bf16"}}
    arms = (
        _arm("broken", configuration, expect="corruption", control="mended", p_vs_control=0.0123,
             p_vs_control_holm=0.0246, session_rate=0.1234, session_ci95=(0.0345, 0.4567), sessions_corrupted=4,
             turns_corrupted=4, verdict=RunVerdict.CORRUPT, kinds={"token_salad": 2, "damaged_arguments": 2}),
        _arm("mended", mended, expect="clean", session_rate=0.0, session_ci95=(0.0, 0.789), rate_bound=0.678,
             zero="0 of 24 sessions leave rates up to 12 % open", caveat="only 2 clusters"),
    )  # fmt: skip
    comparison = NamedComparison(
        name="broken - mended", first="broken", second="mended", factor="cache.gate_index_k", seeds=2,
        difference=0.1234, ci95=(0.011, 0.222), p=0.0123, p_holm=0.0246, smallest_p=0.5, seeds_higher=2,
        seeds_lower=0, decided=True, reason="the gate ends it",
    )  # fmt: skip
    record = MatrixRecord(
        name="gate", started="2026-11-29T17:00:00Z", finished="2026-11-29T18:00:00Z", partial=False,
        repeat="python run.py matrix --seeds 2", source="abcdef", versions={"kvrace": "0.1.0"}, host={"cores": 2},
        git_revision=None, seeds=(1, 2), runs_wanted=4, arms=arms, comparisons=(comparison,), runs=tuple(entries),
        configuration_diff={}, verdict=RunVerdict.CORRUPT, verdict_reason="broken is corrupt", expectations_hold=True,
        notes=("two seeds decide little",),
    )  # fmt: skip
    write_matrix(root, record)
    return root


def live(turns: Sequence[TurnRecord]) -> list[TurnRecord]:
    """The same turns as a live server shows them: nothing is known of its cache."""
    return [replace(record, machine=None, cached_tokens=None) for record in turns]


def _entry(arm: str, seed: int, path: Path, summary: RunSummary) -> MatrixRun:
    return MatrixRun(
        scenario=arm,
        seed=seed,
        run_dir=f"{RUNS}/{path.name}",
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


def _arm(name: str, configuration: dict[str, Any], **changes: Any) -> MatrixArm:
    fields: dict[str, Any] = {
        "scenario": name, "summary": f"the arm {name}", "expectation_held": True, "seeds": 2, "seeds_judged": 2,
        "seeds_corrupted": 0, "seeds_unknown": 0, "sessions": 24, "sessions_judged": 24, "sessions_corrupted": 0,
        "ci_method": "made up", "rate_min": 0.0, "rate_max": 0.2, "rate_bound": None, "session_bound": None,
        "zero": None, "caveat": None, "control": None, "p_vs_control": None, "p_vs_control_holm": None, "turns": 96,
        "turns_corrupted": 0, "kinds": {}, "sessions_primary": 1, "sessions_secondary": 1, "host_hit_share": 1.0,
        "load_backs": 62, "loaded_bytes": 19_200_000_000, "stale_reads": 192, "torn_reads": 14, "poisoned_reads": 62,
        "verdict": RunVerdict.CLEAN, "verdict_reason": f"{name} says so", "configuration": configuration,
        "overrides": {},
    }  # fmt: skip
    return MatrixArm(**(fields | changes))
