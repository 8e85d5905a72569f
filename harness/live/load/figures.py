"""What a load came to by its own marks: turns by phase of the pattern, and the turns that count in no figure.

Owns: counting the latter, and the lines of a screen. Does not own: phases (`results/phases`), rates and verdicts
(`results/summary`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from results.findings import Judgement
from results.phases import PhaseFigures, phases_of
from results.records import TurnRecord
from results.verdict import HUNG_UP_TURNS, WARM_UP_CORRUPTED, WARM_UP_TURNS


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """phases: in the order in which they first came. hung_up: turns by the phase in which we hung up.

    too_late: turns that were to be hung up upon, and whose reply was quicker.
    """

    phases: Mapping[str, PhaseFigures] = field(default_factory=dict)
    warm_up_turns: int = 0
    warm_up_corrupted: int = 0
    hung_up: Mapping[str, int] = field(default_factory=dict)
    too_late: int = 0

    def counters(self) -> dict[str, int | float]:
        """Those that travel with the run folder; empty for a load that did nothing special."""
        known = {
            WARM_UP_TURNS: self.warm_up_turns,
            WARM_UP_CORRUPTED: self.warm_up_corrupted,
            HUNG_UP_TURNS: sum(self.hung_up.values()),
            "hung_up_too_late": self.too_late,
        }
        return {name: count for name, count in known.items() if count}


def load_figures(
    counted: Sequence[tuple[TurnRecord, Judgement]], aside: Sequence[tuple[TurnRecord, Judgement]], *, too_late: int
) -> LoadFigures:
    hung_up: dict[str, int] = {}
    warm_up = []
    for turn, judgement in aside:
        assert turn.load is not None, turn
        if turn.load.hung_up:
            hung_up[turn.load.hung_up] = hung_up.get(turn.load.hung_up, 0) + 1
        else:
            warm_up.append(judgement)
    return LoadFigures(
        phases=phases_of(counted),
        warm_up_turns=len(warm_up),
        warm_up_corrupted=sum(judgement.is_corrupted for judgement in warm_up),
        hung_up=hung_up,
        too_late=too_late,
    )


def load_lines(figures: LoadFigures) -> list[tuple[str, str]]:
    """Label and text of the lines that a screen has of it."""
    rows = [(phase, one.words()) for phase, one in figures.phases.items()]
    if figures.warm_up_turns:
        found = f"{figures.warm_up_corrupted:,} of {figures.warm_up_turns:,} turns corrupted; in no rate or latency"
        rows.append(("warm-up", found))
    if figures.hung_up or figures.too_late:
        shown = ", ".join(f"{count:,} {phase}" for phase, count in sorted(figures.hung_up.items())) or "none"
        late = f"; {figures.too_late:,} replies were quicker and count" if figures.too_late else ""
        rows.append(("hung up", f"{shown} (not judged){late}"))
    return rows
