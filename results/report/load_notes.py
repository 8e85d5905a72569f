"""What a report says of the load's own phases, and of turns that are in none of its rates.

Owns: the sentences. Does not own: the figures (`results/phases`), marks (the load's). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from results.phases import phases_of
from results.report.gather import JudgedRun
from results.report.repeats import repeats_note
from results.report.words import plural
from results.verdict import WARM_UP_CORRUPTED, WARM_UP_TURNS


def load_notes(judged: JudgedRun) -> list[str]:
    """Nothing for a load without phases, warm-up and hanging up."""
    notes = [f"Phase {phase}: {figures.words()}." for phase, figures in phases_of(judged.pairs).items()]
    notes += filter(None, [repeats_note(judged.summary.counters)])
    return notes + _aside(judged, judged.summary.counters)


def _aside(judged: JudgedRun, counters: Mapping[str, int | float]) -> list[str]:
    notes = []
    warm_up = int(counters.get(WARM_UP_TURNS, 0))
    if warm_up:
        found = f"{int(counters.get(WARM_UP_CORRUPTED, 0)):,} of them corrupted"
        notes.append(f"Warm-up: {plural(warm_up, 'turn')} in no rate and no latency, {found}.")
    phases = Counter(turn.load.hung_up for turn in judged.run.aside if turn.load is not None and turn.load.hung_up)
    if phases:
        shown = ", ".join(f"{count:,} {phase}" for phase, count in sorted(phases.items()))
        notes.append(
            f"Hung up on purpose: {plural(phases.total(), 'turn')} ({shown}); these are not judged, and in no rate."
        )
    return notes
