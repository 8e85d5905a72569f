"""Records of runs that nobody has made, for tests of what is made of records.

Owns: defaults. Floor: tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.search.job import Job
from harness.search.record import RunRecord

_PLAIN = RunRecord(
    key="k", source="s", scenario="plain", overrides={}, seed=0, sessions=10, sessions_judged=10, sessions_corrupted=0,
    sessions_primary=0, sessions_secondary=0, session_rate=0.0, turns=40, turns_judged=40, turns_corrupted=0, kinds={},
    load_backs=5, loaded_bytes=1_000, host_hit_turns=10, stale_reads=0, torn_reads=0, poisoned_reads=0,
    decode_stale_reads=0, at_rest_mismatches=0, prompt_tokens_max=5_000, turns_by_stale_layers={0: (40, 0)},
    verdict="clean", verdict_reason="", digest="d", wall_s=1.0,
)  # fmt: skip


def record(seed: int, corrupted: int = 0, **changes: Any) -> RunRecord:
    """Ten sessions, `corrupted` of them corrupted by their own stale reads."""
    made = replace(
        _PLAIN,
        key=f"k-s{seed}",
        seed=seed,
        sessions_corrupted=corrupted,
        sessions_primary=corrupted,
        session_rate=corrupted / 10,
        verdict="corrupt" if corrupted else "clean",
    )
    return replace(made, **changes)


def record_for(job: Job, corrupted: int = 0, **changes: Any) -> RunRecord:
    """The same, as the record of a job."""
    scenario = job.arm.scenario.name
    return record(job.seed, corrupted, key=job.key, scenario=scenario, overrides=dict(job.arm.overrides), **changes)
