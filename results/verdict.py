"""The verdict of a run: clean only where corruption had its chance to show.

Owns: the verdict's order and the exit codes of findings. Does not own: what counts as exercised (`vacuity`).
Floor 3. Source: ours.
"""

from __future__ import annotations

from enum import StrEnum

from results.counts import TurnCounts
from results.records import RunManifest
from results.stats.zero import bound_percent, zero_bound
from results.vacuity import Exercise, demands_of, not_exercised

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
    exercise: Exercise,
) -> tuple[RunVerdict, str]:
    """The verdict, and why, in one sentence. What a clean run leaves open is a rate of sessions, one-sided at 95 %."""
    turns, judged, unjudged = counts.turns, counts.turns_judged, counts.turns_unknown
    if counts.turns_corrupted:
        return RunVerdict.CORRUPT, f"{counts.turns_corrupted} of {judged} judged turns are corrupted"
    missing = not_exercised(exercise, demands_of(manifest, exercise))
    if exercise.answered == 0 and missing is not None:
        return RunVerdict.UNKNOWN, missing
    if judged == 0:
        return RunVerdict.UNKNOWN, f"none of the {turns} turns could be judged"
    if unjudged > UNKNOWN_SHARE_MAX * turns:
        return RunVerdict.UNKNOWN, f"{unjudged} of {turns} turns could not be judged, too many to call it clean"
    if missing is not None:
        return RunVerdict.UNKNOWN, missing
    bound = bound_percent(zero_bound(counts.sessions_judged).independent)
    found = f"no corruption in {judged} turns of {counts.sessions_judged} sessions"
    return RunVerdict.CLEAN, f"{found}: rates up to {bound} are open if sessions are independent"
