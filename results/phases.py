"""Turns by the phase of the load that sent them: how many were corrupted, and what was cached by then.

Owns: the counting. Does not own: phases (the load marks its turns), rates over a run (`summary`). Floor 3.
Source: facts/bugs.md section 5 item 4 (a return proves nothing unless something was cached, evicted, and came back).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from results.findings import Judgement, Verdict
from results.records import TurnRecord

_Pairs = Sequence[tuple[TurnRecord, Judgement]]


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """cached_tokens, prompt_tokens: means over the replies that report them; None where none does."""

    turns: int
    judged: int
    corrupted: int
    cached_tokens: float | None
    prompt_tokens: float | None

    def words(self) -> str:
        cached = "cached tokens unknown" if self.cached_tokens is None else f"{self.cached_tokens:,.0f} cached tokens"
        prompt = "" if self.prompt_tokens is None else f" of {self.prompt_tokens:,.0f}"
        return f"{self.corrupted:,} of {self.judged:,} judged turns corrupted, {cached}{prompt} on average"


def phases_of(pairs: Iterable[tuple[TurnRecord, Judgement]]) -> Mapping[str, PhaseFigures]:
    """In the order in which the phases first came. Turns without one are left out."""
    by_phase: dict[str, list[tuple[TurnRecord, Judgement]]] = {}
    for turn, judgement in sorted(pairs, key=lambda pair: pair[0].sent_ns):
        if turn.load is not None and turn.load.phase:
            by_phase.setdefault(turn.load.phase, []).append((turn, judgement))
    return {phase: _figures(of_phase) for phase, of_phase in by_phase.items()}


def _figures(pairs: _Pairs) -> PhaseFigures:
    return PhaseFigures(
        turns=len(pairs),
        judged=sum(judgement.verdict is not Verdict.UNKNOWN for _, judgement in pairs),
        corrupted=sum(judgement.is_corrupted for _, judgement in pairs),
        cached_tokens=_mean([turn.cached_tokens for turn, _ in pairs]),
        prompt_tokens=_mean([turn.prompt_tokens for turn, _ in pairs]),
    )


def _mean(counts: Sequence[int | None]) -> float | None:
    known = [count for count in counts if count is not None]
    return round(sum(known) / len(known), 1) if known else None
