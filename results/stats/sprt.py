"""Sound or corrupt, two rates fixed beforehand: the shortest test there is when one of them is true.

Owns: Wald's sequential probability ratio test. Does not own: tests for rates that nobody fixed (`always_valid`).
Floor 3.
Source: Wald, Ann. Math. Statist. 16 (1945). Its thresholds keep the sum of both errors below alpha + beta.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import log, log1p


class SprtDecision(StrEnum):
    SOUND = "sound"
    CORRUPT = "corrupt"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class SprtResult:
    """log_ratio: log likelihood of `corrupt_rate` over `sound_rate` when it stopped."""

    decision: SprtDecision
    units_used: int
    log_ratio: float


def sprt(
    outcomes: Iterable[bool],
    *,
    sound_rate: float,
    corrupt_rate: float,
    alpha: float = 0.01,
    beta: float = 0.01,
) -> SprtResult:
    """Look at outcomes (is it corrupt?) one by one, and stop as soon as one of the two rates is the better one.

    Assumes: independent units. alpha: chance to call the sound rate corrupt; beta: the corrupt one sound.
    """
    assert 0 < sound_rate < corrupt_rate < 1, (sound_rate, corrupt_rate)
    assert 0 < alpha < 0.5 and 0 < beta < 0.5, (alpha, beta)
    step_corrupt = log(corrupt_rate / sound_rate)
    step_sound = log1p(-corrupt_rate) - log1p(-sound_rate)
    to_corrupt, to_sound = log((1 - beta) / alpha), log(beta / (1 - alpha))
    ratio, used = 0.0, 0
    for is_corrupt in outcomes:
        used += 1
        ratio += step_corrupt if is_corrupt else step_sound
        if ratio >= to_corrupt:
            return SprtResult(SprtDecision.CORRUPT, used, ratio)
        if ratio <= to_sound:
            return SprtResult(SprtDecision.SOUND, used, ratio)
    return SprtResult(SprtDecision.UNDECIDED, used, ratio)
