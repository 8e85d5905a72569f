"""Could chance have done it? A model that errs now and then does so under load too, and is right alone the next time.

Owns: the damage that no model does by itself, and how many right replies alone rule chance out. Does not own: the
verdict (`judging`), how many turns are asked (`harness/live/serial`). Floor 3. Source: Fisher's exact test, one-sided:
were replies under load and alone wrong at one rate, then so many wrong ones would seldom all be under load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scipy import stats

from results.findings import Kind
from results.oracles.divergence import Observed
from results.serial.baseline import LoadedTurns
from results.serial.turns import Asked

ALPHA: Final = 0.05
BEYOND_MODELS: Final = frozenset({Kind.CROSS_TALK, Kind.TOKEN_SALAD, Kind.CONTROL_TOKENS})
"""Another session's secret, tokens of no text, and tokens that are never shown: engines and caches do that, and a model
that gives planted answers alone does not."""


@dataclass(frozen=True, slots=True)
class Replies:
    """Judged replies, and those of them that are wrong."""

    wrong: int
    count: int


@dataclass(frozen=True, slots=True)
class Chance:
    """alone: how many replies, all right. p: that all wrong ones are under load, if load makes no difference."""

    loaded: Replies
    alone: int
    p: float

    @property
    def is_ruled_out(self) -> bool:
        return self.p <= ALPHA

    @property
    def replies_needed(self) -> int:
        """Alone, and all of them right, to rule it out."""
        return replies_to_rule_out(self.loaded)


def chance(asked: Sequence[Asked], loaded: LoadedTurns) -> Chance:
    """Of the whole run, and every reply of the check: the turns asked all at once stood under load as well.

    Turns that are wrong alone are left out on both sides: what fails them is not chance.
    """
    steady = [one for one in asked if not one.wrong_alone]
    failing = [one for one in asked if one.wrong_alone]
    together = [one for each in steady for one in each.together if one.turn.error is None]
    alone = sum(len(one.answers_alone) for one in steady)
    wrong = loaded.wrong_turns - sum(one.was_wrong for one in failing) + _wrong(together)
    under_load = Replies(wrong, loaded.turns - len(failing) + len(together))
    return Chance(under_load, alone, _p(under_load, alone))


def may_be_the_model(asked: Asked) -> bool:
    """Whether what is wrong with it under load is such that a model may have said it."""
    kinds = [one.judgement.kind for one in (asked.loaded, *asked.together) if one.judgement.is_corrupted]
    return bool(kinds) and not BEYOND_MODELS.intersection(kinds)


def replies_to_rule_out(loaded: Replies) -> int:
    """How many right replies alone it takes. At least one reply under load is wrong."""
    assert 0 < loaded.wrong <= loaded.count, loaded
    enough = 1
    while _p(loaded, enough) > ALPHA:
        enough *= 2
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        if _p(loaded, middle) > ALPHA:
            short = middle
        else:
            enough = middle
    return enough


def _p(loaded: Replies, alone: int) -> float:
    table = [[loaded.wrong, loaded.count - loaded.wrong], [0, alone]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def _wrong(replies: Sequence[Observed]) -> int:
    return sum(one.judgement.is_corrupted for one in replies)
