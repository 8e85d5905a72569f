"""Which turns are asked again: wrong ones, and a sample of all.

Owns: the draw. Does not own: how many (`settings`). Pure. Floor 5. Source: ours. The sample is drawn from every judged
turn, whatever it came to, else its rate would not be the model's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from results.findings import Judgement, Kind, Verdict
from results.records import TurnRecord


@dataclass(frozen=True, slots=True)
class Chosen:
    """A turn of the run that is asked again."""

    turn: TurnRecord
    judgement: Judgement
    is_sampled: bool


class Choice:
    """Draws once, and may go on with the same draw."""

    def __init__(
        self, turns: Sequence[TurnRecord], judgements: Sequence[Judgement], rng: np.random.Generator, *, wrong_max: int
    ) -> None:
        pairs = list(zip(turns, judgements, strict=True))
        self._judged = [pair for pair in pairs if pair[1].verdict is not Verdict.UNKNOWN and pair[0].error is None]
        wrong = [pair for pair in pairs if pair[1].is_corrupted]
        # Another session's secret is no matter of rates, so such turns come first.
        wrong.sort(key=lambda pair: pair[1].kind is not Kind.CROSS_TALK)
        self.wrong = [pair[0].key for pair in wrong]
        self._wrong = wrong if len(wrong) <= wrong_max else _some(wrong, wrong_max, rng)
        doubtful = [pair for pair in pairs if _is_doubtful(*pair)]
        self._wrong += doubtful[: wrong_max - len(self._wrong)]
        self._order = [int(place) for place in rng.permutation(len(self._judged))]
        self._drawn = 0

    def __repr__(self) -> str:
        return f"Choice({len(self._wrong)} of {len(self.wrong)} wrong, {self._drawn} of {len(self._judged)} drawn)"

    @property
    def judged(self) -> int:
        return len(self._judged)

    @property
    def drawn(self) -> int:
        return self._drawn

    def first(self, sample: int) -> list[Chosen]:
        """The wrong turns and a sample, in turns, so that a check which is cut short has both."""
        drawn = list(self._draw(sample))
        sampled = {turn.key for turn, _ in drawn}
        wrong = [Chosen(*pair, is_sampled=pair[0].key in sampled) for pair in self._wrong]
        asked = {one.turn.key for one in wrong}
        rest = [Chosen(*pair, is_sampled=True) for pair in drawn if pair[0].key not in asked]
        return list(_alternating(wrong, rest))

    def more(self, sample: int, asked: Sequence[Chosen]) -> tuple[list[Chosen], list[Chosen]]:
        """Up to so many in all: those that have been asked, marked anew, and those that have not."""
        drawn = list(self._draw(sample))
        keys = {turn.key for turn, _ in drawn}
        marked = [Chosen(one.turn, one.judgement, one.is_sampled or one.turn.key in keys) for one in asked]
        known = {one.turn.key for one in asked}
        return marked, [Chosen(*pair, is_sampled=True) for pair in drawn if pair[0].key not in known]

    def _draw(self, sample: int) -> Iterator[tuple[TurnRecord, Judgement]]:
        while self._drawn < min(sample, len(self._order)):
            yield self._judged[self._order[self._drawn]]
            self._drawn += 1


def _is_doubtful(turn: TurnRecord, judgement: Judgement) -> bool:
    """A whole reply that looks wrong, where no right answer is known: a model may say it by itself."""
    is_whole = turn.error is None and turn.finish_reason is not None
    return is_whole and not turn.has_answer and judgement.verdict is Verdict.UNKNOWN


def _some(
    pairs: list[tuple[TurnRecord, Judgement]], count: int, rng: np.random.Generator
) -> list[tuple[TurnRecord, Judgement]]:
    """All proofs that no model can make up, and others by chance."""
    proofs = [pair for pair in pairs if pair[1].kind is Kind.CROSS_TALK][:count]
    others = pairs[sum(pair[1].kind is Kind.CROSS_TALK for pair in pairs) :]
    places = rng.permutation(len(others))[: count - len(proofs)]
    return proofs + [others[int(place)] for place in sorted(places)]


def _alternating(one: Sequence[Chosen], other: Sequence[Chosen]) -> Iterator[Chosen]:
    for place in range(max(len(one), len(other))):
        yield from one[place : place + 1]
        yield from other[place : place + 1]
