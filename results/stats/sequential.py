"""Arms over growing numbers of seeds: say at every look, with a fixed chance of error, what is decided already.

Owns: the decision for `--until decided`. The unit is the seed, and all that an arm's seed brings is its share of
corrupted sessions, so sessions of one seed may depend on each other in any way. Does not own: running anything, the
e-processes (`symmetry`, `betting`). Floor 3.
Source: e-processes are valid at any stopping time, and so are p-values read from their running maximum; Holm over
arms keeps the chance of any false "higher" or "lower" in the whole matrix below 1 - level, Bonferroni that of any
false "bounded".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from results.stats.betting import evidence_below, mean_sequence
from results.stats.holm import holm
from results.stats.intervals import LEVEL, Interval
from results.stats.symmetry import anytime_p, pair_evidence
from results.stats.zero import all_empty_chance

CLAIM_BELOW = 0.05


class ArmVerdict(StrEnum):
    """Against the control arm. BOUNDED: no difference as large as the claim, in either direction."""

    HIGHER = "higher"
    LOWER = "lower"
    BOUNDED = "bounded"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ArmCounts:
    """Sessions of one arm in one seed; `judged` are those of which anything can be said."""

    corrupted: int
    judged: int

    def __post_init__(self) -> None:
        assert 0 <= self.corrupted <= self.judged, (self.corrupted, self.judged)

    @property
    def rate(self) -> float:
        return self.corrupted / self.judged


_Pair = tuple[ArmCounts, ArmCounts]
"""Of one seed: the arm, the control."""


@dataclass(frozen=True, slots=True)
class ArmLook:
    """One arm at one look. rate, difference (arm minus control): means over seeds, intervals valid at every look.

    p, p_adjusted: valid at every look; the second also over all arms. seeds_skipped: arm or control not judged there.
    """

    arm: str
    verdict: ArmVerdict
    rate: Interval
    difference: Interval
    p: float
    p_adjusted: float
    seeds_used: int
    seeds_skipped: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Look:
    """All arms at one look; `decided` once no arm is undecided. control: the mean rate of the control arm."""

    decided: bool
    seed_count: int
    arms: tuple[ArmLook, ...]
    control: Interval
    sentence: str


@dataclass(frozen=True, slots=True)
class Sequential:
    """What was fixed before the first seed. Changing any of it after a look voids the guarantee.

    claim_below: an arm whose difference from the control is surely smaller than this counts as decided too.
    design_effect: at most so much do sessions of a seed depend on each other, known from earlier runs. None assumes
    nothing, and then clean arms take many more seeds: with the seed as the only unit 59 clean ones rule out 5 %.
    """

    control: str
    arms: tuple[str, ...]
    level: float = LEVEL
    claim_below: float = CLAIM_BELOW
    design_effect: float | None = None

    def __post_init__(self) -> None:
        assert self.arms and self.control not in self.arms and len(set(self.arms)) == len(self.arms), self
        assert 0 < self.level < 1 and 0 < self.claim_below < 1, self
        assert self.design_effect is None or self.design_effect >= 1, self

    def look(self, seeds: Sequence[Mapping[str, ArmCounts]]) -> Look:
        """What is decided after these seeds: all so far, in the order in which they were planned, one mapping a seed.

        Assumes: seeds are independent, and whether a seed could be judged does not depend on its outcome. A pure
        function of its argument, so a campaign that was interrupted goes on by calling it again.
        """
        pairs = {arm: self._pairs(arm, seeds) for arm in self.arms}
        evidence = {arm: pair_evidence([mine.rate - other.rate for mine, other in pairs[arm]]) for arm in self.arms}
        p_values = {arm: anytime_p(found) for arm, found in evidence.items()}
        adjusted = holm(self.arms, p_values, alpha=1 - self.level)
        looks = tuple(
            self._arm_look(arm, pairs[arm], p_values[arm], comparison.p_adjusted, len(seeds))
            for arm, comparison in zip(self.arms, adjusted, strict=True)
        )
        open_arms = [look.arm for look in looks if look.verdict is ArmVerdict.UNDECIDED]
        control_rates = [seed[self.control].rate for seed in seeds if seed[self.control].judged]
        state = f"undecided: {', '.join(open_arms)}" if open_arms else "every arm is decided"
        return Look(
            decided=not open_arms,
            seed_count=len(seeds),
            arms=looks,
            control=mean_sequence(control_rates, self.level),
            sentence=f"after {len(seeds)} seeds {state} (valid at every look, unit: the seed)",
        )

    def _pairs(self, arm: str, seeds: Sequence[Mapping[str, ArmCounts]]) -> list[_Pair]:
        both = [(seed[arm], seed[self.control]) for seed in seeds]
        return [(mine, other) for mine, other in both if mine.judged and other.judged]

    def _arm_look(self, arm: str, pairs: Sequence[_Pair], p: float, p_adjusted: float, seed_count: int) -> ArmLook:
        alpha = (1 - self.level) / len(self.arms)
        differences = [mine.rate - other.rate for mine, other in pairs]
        difference = mean_sequence(differences, 1 - alpha, low=-1.0)
        if p_adjusted <= 1 - self.level:
            verdict = ArmVerdict.HIGHER if difference.estimate > 0 else ArmVerdict.LOWER
        elif self._is_bounded(pairs, differences, alpha):
            verdict = ArmVerdict.BOUNDED
        else:
            verdict = ArmVerdict.UNDECIDED
        return ArmLook(
            arm=arm,
            verdict=verdict,
            rate=mean_sequence([mine.rate for mine, _ in pairs], self.level),
            difference=difference,
            p=p,
            p_adjusted=p_adjusted,
            seeds_used=len(pairs),
            seeds_skipped=seed_count - len(pairs),
            sentence=self._sentence(arm, verdict, difference, p_adjusted),
        )

    def _is_bounded(self, pairs: Sequence[_Pair], differences: Sequence[float], alpha: float) -> bool:
        """Whether both "higher by the claim or more" and "lower by it" are ruled out; only one of them can be true."""
        by_betting = min(
            evidence_below(differences, self.claim_below, low=-1.0),
            evidence_below([-value for value in differences], self.claim_below, low=-1.0),
        )
        if self.design_effect is None:
            return by_betting >= 1 / alpha
        return (by_betting + self._evidence_of_silence(pairs, self.design_effect)) / 2 >= 1 / alpha

    def _evidence_of_silence(self, pairs: Sequence[_Pair], effect: float) -> float:
        """Against "one of the two rates is the claim or more": a bet on clean seeds, lost with the first event."""
        if any(mine.corrupted or other.corrupted for mine, other in pairs):
            return 0.0
        chances = (
            all_empty_chance(self.claim_below, 1, size, min(effect, size))
            for size in (min(mine.judged, other.judged) for mine, other in pairs)
        )
        return 1 / prod(chances)

    def _sentence(self, arm: str, verdict: ArmVerdict, difference: Interval, p_adjusted: float) -> str:
        if verdict in (ArmVerdict.HIGHER, ArmVerdict.LOWER):
            points = 100 * abs(difference.estimate)
            return f"{arm} is {verdict} than {self.control} by {points:.1f} points (p = {p_adjusted:.2g} at any look)"
        if verdict is ArmVerdict.BOUNDED:
            return f"{arm} differs from {self.control} by less than {100 * self.claim_below:g} points"
        largest = 100 * max(difference.high, -difference.low)
        return f"{arm} against {self.control} is undecided: differences up to {largest:.2g} points are open"
