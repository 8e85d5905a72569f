"""Matrices and runs that nobody has made, for tests of what is made of them.

Owns: defaults. Floor: tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from results.matrix.record import MatrixArm, MatrixRecord, MatrixRun
from results.records import SessionRecord
from results.store import create_run
from results.verdict import RunVerdict
from tests.results.builders import TOOLS, call, judged, manifest, measured, turn

SESSIONS = 10
Corrupted = Mapping[str, Mapping[int, int]]
"""By arm and seed, how many of ten sessions are corrupted."""

_ARM = MatrixArm(
    scenario="plain", summary="", expect="clean", expectation_held=True, seeds=0, seeds_judged=0, seeds_corrupted=0,
    seeds_unknown=0, sessions=0, sessions_judged=0, sessions_corrupted=0, session_rate=None, session_ci95=None,
    ci_method="", rate_min=None, rate_max=None, rate_bound=None, session_bound=None, zero=None, caveat=None,
    control=None, p_vs_control=None, p_vs_control_holm=None, turns=0, turns_corrupted=0, kinds={}, sessions_primary=0,
    sessions_secondary=0, host_hit_share=0.5, load_backs=5, loaded_bytes=10, stale_reads=0, torn_reads=0,
    poisoned_reads=0, verdict=RunVerdict.CLEAN, verdict_reason="", configuration={}, overrides={},
)  # fmt: skip


def matrix(corrupted: Corrupted, *, expect: Mapping[str, str] | None = None, **changes: Any) -> MatrixRecord:
    """A finished matrix. expect: by arm; an arm with any corruption is expected to have it, unless it is said here."""
    arms = tuple(_arm(name, seeds, (expect or {}).get(name)) for name, seeds in corrupted.items())
    runs = tuple(_run(name, seed, count) for name, seeds in corrupted.items() for seed, count in seeds.items())
    seeds = tuple(dict.fromkeys(run.seed for run in runs))
    is_corrupt = any(run.sessions_corrupted for run in runs)
    made = MatrixRecord(
        name="m", started="2026-11-29T17:55:12+00:00", finished="2026-11-29T17:56:12+00:00", partial=False,
        repeat="python run.py matrix", source="aaaa", versions={"kvrace": "0.1.0"}, host={"cores": 2},
        git_revision=None, seeds=seeds, runs_wanted=len(runs), arms=arms, comparisons=(), runs=runs,
        configuration_diff={}, verdict=RunVerdict.CORRUPT if is_corrupt else RunVerdict.CLEAN, verdict_reason="",
        expectations_hold=all(arm.expectation_held for arm in arms),
    )  # fmt: skip
    return replace(made, **changes)


def _arm(name: str, seeds: Mapping[int, int], expect: str | None) -> MatrixArm:
    corrupted, sessions = sum(seeds.values()), SESSIONS * len(seeds)
    verdict = RunVerdict.CORRUPT if corrupted else RunVerdict.CLEAN
    wanted = expect or ("corruption" if corrupted else "clean")
    return replace(
        _ARM,
        scenario=name,
        expect=wanted,
        expectation_held=(wanted == "corruption") is bool(corrupted),
        seeds=len(seeds),
        seeds_judged=len(seeds),
        sessions=sessions,
        sessions_judged=sessions,
        sessions_corrupted=corrupted,
        session_rate=corrupted / sessions if sessions else None,
        session_ci95=(0.0, 0.5) if sessions else None,
        kinds={"token_salad": corrupted} if corrupted else {},
        verdict=verdict,
        verdict_reason=f"{corrupted} of {sessions}",
        configuration={"name": name, "expect": wanted, "workload": {"sessions": SESSIONS}, "cache": {"arm": name}},
    )


def _run(name: str, seed: int, corrupted: int) -> MatrixRun:
    return MatrixRun(
        scenario=name, seed=seed, run_dir=None, sessions=SESSIONS, sessions_judged=SESSIONS,
        sessions_corrupted=corrupted, session_rate=corrupted / SESSIONS, turns=40, turns_corrupted=corrupted,
        verdict=RunVerdict.CORRUPT if corrupted else RunVerdict.CLEAN, verdict_reason="",
        digest=f"{name}-{seed}-{corrupted}", wall_s=1.0,
    )  # fmt: skip


def stored_run(root: Path, *, seed: int, corrupted: int, sessions: int = SESSIONS, said_by: int | None = None,
               **changes: Any) -> Path:  # fmt: skip
    """A closed run folder; the first `corrupted` sessions answer with a wrong argument.

    said_by: the seed whose secrets the sessions have, where it is not the run's own.
    """
    origin = seed if said_by is None else said_by
    plans = [SessionRecord(number, 0, 1, (f"word-{origin}-{number}",)) for number in range(sessions)]
    begun = manifest(
        seed=seed, session_count=sessions, configuration={"name": "x", "workload": {"sessions": sessions}}, **changes
    )
    with create_run(root, stamp="20261129T175512Z", manifest=begun, tools=TOOLS, sessions=plans) as writer:
        for number in range(sessions):
            reply = (call(guests=9),) if number < corrupted else (call(),)
            writer.append(turn(number, 0, tool_calls=reply, secrets=plans[number].secrets), judged(number, 0))
        writer.close(finished="2026-11-29T17:55:30Z", measured=measured(sessions), summary={})
    return writer.path
