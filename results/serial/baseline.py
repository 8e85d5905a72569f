"""Is the model wrong as often alone? The rate of wrong turns under load against its rate alone, with an interval.

Owns: the excess over the base rate. Does not own: which turns were asked again, or what one of them says (`judging`).
Floor 3. Source: ours. If load does not matter, a turn's replies under load and alone may be exchanged: then it is wrong
under load and right alone as often as the other way round, however unlike the turns are. So the excess is the
difference of these two rates (McNemar's argument). The first is over all wrong turns that were asked again, the second
over a sample of all turns; the interval of their difference is Newcombe's (Statistics in Medicine 17, 1998), from the
interval of each, and the first allows for the dependence inside sessions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot

from results.serial.record import BaseRate, Share
from results.stats.arm_rate import arm_rate
from results.stats.intervals import clopper_pearson

_SAMPLES_TRIED = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1_024, 2_048, 4_096)


@dataclass(frozen=True, slots=True)
class LoadedTurns:
    """The judged turns of the run by session, and those that are wrong; two lists of the same order."""

    judged: Sequence[int]
    wrong: Sequence[int]

    @property
    def turns(self) -> int:
        return sum(self.judged)

    @property
    def wrong_turns(self) -> int:
        return sum(self.wrong)


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """Counts of the check. right_alone: of the wrong turns that were asked again, by the share of their replies alone.

    sample_wrong: of the sampled turns, by the share of their wrong replies alone. sample_only_alone: the same of those
    that were right under load.
    """

    wrong_asked: int
    right_alone: float
    sampled: int
    sample_wrong: float
    sample_only_alone: float


def base_rate(loaded: LoadedTurns, asked: AskedAgain) -> BaseRate:
    """Needs a sampled turn, and a wrong one that was asked again."""
    assert asked.sampled and asked.wrong_asked and loaded.turns, (loaded, asked)
    whole = arm_rate(loaded.wrong, loaded.judged)
    share = asked.right_alone / asked.wrong_asked
    # Of the wrong turns only some were asked again; the interval knows no more turns than those stand for.
    known = asked.wrong_asked / loaded.wrong_turns
    units = whole.unit_count * known * _shrunk(loaded)
    only_loaded = _share(whole.estimate * share * units, units)
    only_alone = _share(asked.sample_only_alone, asked.sampled)
    excess, low, high = _difference(only_loaded, only_alone)
    return BaseRate(
        loaded=Share(loaded.wrong_turns, loaded.turns, whole.low, whole.high),
        alone=_share(asked.sample_wrong, asked.sampled),
        only_loaded=only_loaded,
        only_alone=only_alone,
        excess=excess,
        excess_low=low,
        excess_high=high,
        turns_needed=None if low > 0 else _turns_needed(only_loaded, only_alone),
    )


def _shrunk(loaded: LoadedTurns) -> float:
    """How much of the turns is left when those of one session hang together: one over the design effect."""
    plain = clopper_pearson(loaded.wrong_turns, loaded.turns)
    allowed = arm_rate(loaded.wrong, loaded.judged)
    width, allowed_width = plain.high - plain.low, allowed.high - allowed.low
    return min(1.0, (width / allowed_width) ** 2) if allowed_width else 1.0


def _share(events: float, units: float) -> Share:
    interval = clopper_pearson(min(events, units), units)
    return Share(events, units, interval.low, interval.high)


def _difference(first: Share, second: Share) -> tuple[float, float, float]:
    excess = first.rate - second.rate
    below = hypot(first.rate - first.low, second.high - second.rate)
    above = hypot(first.high - first.rate, second.rate - second.low)
    return excess, max(-1.0, excess - below), min(1.0, excess + above)


def _turns_needed(first: Share, second: Share) -> int | None:
    """The smallest sample that would decide, if its rate stayed what it is; None where none would."""
    rate = second.rate
    for turns in _SAMPLES_TRIED:
        if turns > second.units and _difference(first, _share(rate * turns, turns))[1] > 0:
            return turns
    return None
