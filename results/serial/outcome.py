"""What a run's verdict becomes when the same turns were asked again alone.

Owns: the rule. Does not own: either verdict (`results/verdict`, `judging`). Pure. Floor 3. Source: ours.

Corrupt alone is enough for CORRUPT. Wrong turns that the model fails alone as well could not be judged: few of them
leave a run clean, many make it UNKNOWN, as any turns that nobody could judge. A serial check that cannot tell makes a
run UNKNOWN only where the wrong turns, of the run or of the check, are what it cannot tell about: elsewhere the planted
answers have judged.
"""

from __future__ import annotations

from results.counts import TurnCounts
from results.findings import Kind, Verdict
from results.records import ServedAlone
from results.verdict import UNKNOWN_SHARE_MAX, RunVerdict


def with_serial(
    verdict: RunVerdict, reason: str, counts: TurnCounts, alone: ServedAlone | None
) -> tuple[RunVerdict, str]:
    """The verdict of the run's own turns, seen beside their replies alone.

    Args:
        alone: None where nobody asked again.
    """
    if alone is None:
        return verdict, reason
    if alone.verdict is Verdict.VIOLATED:
        return RunVerdict.CORRUPT, f"{reason}; {alone.reason}" if verdict is RunVerdict.CORRUPT else alone.reason
    is_explained = alone.is_explained and str(Kind.CROSS_TALK) not in counts.kinds
    if not is_explained:
        return verdict, reason
    if alone.verdict is Verdict.UNKNOWN:
        return RunVerdict.UNKNOWN, alone.reason
    if not counts.turns_corrupted:
        return verdict, reason
    unjudged = counts.turns_unknown + counts.turns_corrupted
    if unjudged > UNKNOWN_SHARE_MAX * counts.turns:
        return RunVerdict.UNKNOWN, f"{alone.reason}; {unjudged} of {counts.turns} turns are too many to leave out"
    right = counts.turns_judged - counts.turns_corrupted
    return RunVerdict.CLEAN, f"{alone.reason}; the other {right} judged turns are right"
