"""The verdict of a run: clean only where corruption had its chance to show.

Owns: the verdict's order and the exit codes of findings. Does not own: what counts as exercised (`vacuity`).
Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from results.counts import TurnCounts
from results.records import RunManifest
from results.stats.zero import bound_percent, zero_bound
from results.vacuity import Exercise, demands_of, not_exercised

WARM_UP_TURNS = "warm_up_turns"
WARM_UP_CORRUPTED = "warm_up_corrupted"
HUNG_UP_TURNS = "hung_up_turns"
"""Counters of a run of which some turns are in no rate."""

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
    if counts.turns_known < judged:
        found += f" ({counts.turns_known} of the turns had a known answer, the others were judged by their text alone)"
    return RunVerdict.CLEAN, f"{found}: rates up to {bound} are open if sessions are independent"


def with_aside(
    verdict: RunVerdict, reason: str, counts: TurnCounts, counters: Mapping[str, int | float]
) -> tuple[RunVerdict, str]:
    """What turns that are in no rate say all the same: a corrupted reply is one, whenever it came."""
    corrupted, turns = int(counters.get(WARM_UP_CORRUPTED, 0)), int(counters.get(WARM_UP_TURNS, 0))
    if corrupted and verdict is not RunVerdict.CORRUPT:
        return RunVerdict.CORRUPT, f"{corrupted} of {turns} turns of the warm-up are corrupted, and none after it"
    aside = turns + int(counters.get(HUNG_UP_TURNS, 0))
    if aside and not counts.turns:
        return verdict, f"all {aside} turns were sent in the warm-up or hung up upon, so none is left to judge"
    return verdict, reason
