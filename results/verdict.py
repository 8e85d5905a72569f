"""The verdict of a run: clean only where corruption had its chance to show.

Owns: the vacuity gate and the exit codes of findings. Floor 3. Source: ours.
"""

from __future__ import annotations

from enum import StrEnum

from results.counts import TurnCounts
from results.records import RunManifest
from results.stats.intervals import upper_bound_at_zero

UNKNOWN_SHARE_MAX = 0.05
"""With more turns than this unjudged, those that were judged may be the lucky ones."""


class RunVerdict(StrEnum):
    CLEAN = "clean"
    CORRUPT = "corrupt"
    UNKNOWN = "unknown"

    @property
    def exit_code(self) -> int:
        return {RunVerdict.CLEAN: 0, RunVerdict.CORRUPT: 1, RunVerdict.UNKNOWN: 4}[self]


def verdict_of(
    manifest: RunManifest,
    counts: TurnCounts,
    *,
    load_backs: int,
    host_hit_turns: int,
) -> tuple[RunVerdict, str]:
    """The verdict, and why, in one sentence. The rate that a clean run leaves open is of sessions, at 95 %."""
    turns, judged, unjudged = counts.turns, counts.turns_judged, counts.turns_unknown
    if counts.turns_corrupted:
        return RunVerdict.CORRUPT, f"{counts.turns_corrupted} of {judged} judged turns are corrupted"
    if turns == 0:
        return RunVerdict.UNKNOWN, "no turn was run, so nothing could be judged"
    if judged == 0:
        return RunVerdict.UNKNOWN, f"none of the {turns} turns could be judged"
    if unjudged > UNKNOWN_SHARE_MAX * turns:
        return RunVerdict.UNKNOWN, f"{unjudged} of {turns} turns could not be judged, too many to call it clean"
    if manifest.requires_host_tier and load_backs == 0:
        return RunVerdict.UNKNOWN, "the path was not exercised: nothing was loaded back from the host tier"
    if manifest.requires_host_tier and host_hit_turns == 0:
        return RunVerdict.UNKNOWN, "the path was not exercised: no turn's prompt hit the host tier"
    bound = 100 * upper_bound_at_zero(counts.sessions_judged)
    found = f"no corruption in {judged} turns of {counts.sessions_judged} sessions"
    return RunVerdict.CLEAN, f"{found}, which leaves rates up to {bound:.2g} % open"
