"""Could chance have done it? A model that errs now and then does so under load too, and is right alone the next time.

Owns: the damage that no model does by itself, and whether the wrong turns of a run are too many for chance. Does not
own: the verdict (`judging`), how many turns are asked (`harness/live/serial`). Floor 3. Source: Fisher's exact test,
one-sided. If load makes no difference, a turn is wrong under load and right alone as often as the other way round. A
turn counts once, however often it was asked: replies alone may all be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scipy import stats

from results.findings import Kind
from results.serial.baseline import LoadedTurns
from results.serial.turns import Asked

ALPHA: Final = 0.05
BEYOND_MODELS: Final = frozenset({Kind.CROSS_TALK, Kind.TOKEN_SALAD, Kind.CONTROL_TOKENS})
"""Engines and caches do that; a model that gives planted answers alone does not, however it errs now and then."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Turns, and those of them that are wrong here and right there."""

    wrong: int
    count: int


@dataclass(frozen=True, slots=True)
class Chance:
    """loaded: the run's turns. alone: the sampled ones. p: of so many more wrong under load, if load does nothing."""

    loaded: Turns
    alone: Turns
    p: float

    @property
    def is_ruled_out(self) -> bool:
        return self.p <= ALPHA

    @property
    def turns_needed(self) -> int | None:
        """The smallest sample that would rule it out, were no further turn wrong alone; None where nothing would."""
        return fewest_turns(self.loaded, self.alone.wrong)


def chance(asked: Sequence[Asked], loaded: LoadedTurns) -> Chance:
    """A turn that is wrong alone as well is no matter of chance, and stands on neither side."""
    wrong = [one for one in asked if one.was_wrong and one.judged_alone]
    sample = [one for one in asked if one.is_sampled and one.judged_alone]
    right_alone = sum(not one.wrong_alone for one in wrong)
    # Of the wrong turns that were not asked again, as many as of those that were.
    by_load = round(loaded.wrong_turns * right_alone / len(wrong)) if wrong else 0
    under_load = Turns(by_load, loaded.turns)
    alone = Turns(sum(one.wrong_alone > 0 and not one.was_wrong for one in sample), len(sample))
    return Chance(under_load, alone, _p(under_load, alone))


def may_be_the_model(asked: Asked) -> bool:
    """Whether what is wrong with it under load is such that a model may have said it by chance."""
    kinds = [one.judgement.kind for one in (asked.loaded, *asked.together) if one.judgement.is_corrupted]
    return bool(kinds) and not BEYOND_MODELS.intersection(kinds)


def fewest_turns(loaded: Turns, wrong_alone: int = 0) -> int | None:
    """How many sampled turns rule chance out, so many of them wrong alone; None where no sample as large as a hundred
    runs would."""
    most = 100 * loaded.count
    if _p(loaded, Turns(wrong_alone, max(most, wrong_alone))) > ALPHA:
        return None
    short, enough = wrong_alone - 1, most
    while enough - short > 1:
        middle = (short + enough) // 2
        if _p(loaded, Turns(wrong_alone, middle)) > ALPHA:
            short = middle
        else:
            enough = middle
    return enough


def _p(loaded: Turns, alone: Turns) -> float:
    table = [[loaded.wrong, loaded.count - loaded.wrong], [alone.wrong, alone.count - alone.wrong]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)
