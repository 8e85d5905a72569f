"""A loaded reply read by the quiet model: is each of its tokens one that rounding can choose?

Owns: what a gap means. Does not own: getting the log-probabilities (`harness/live/serial`). Floor 3. Source: ours.
At temperature 0 each token is the best one but for rounding, so in a sound reply no token lies far behind the best of
its place, whatever the texts are. The same question about the reply that the server gave alone is the control: a way of
asking that finds gaps in that one (a chat template that spells a reply in another way) shows nothing.
"""

from __future__ import annotations

from results.findings import Verdict
from results.oracles.divergence import CORRUPT_SHIFTS, FLIP_SHIFTS, ROUNDING_NATS_MAX, NoiseFloor
from results.serial.record import Rescored


def judge_rescored(rescored: Rescored, noise: NoiseFloor, verdict: Verdict, reason: str) -> tuple[Verdict, str]:
    """The turn's verdict with the re-scoring beside it.

    A wrong answer of a trusted model stays corrupt however near the tie was; what was not decided may be.
    """
    worst = f"its token {rescored.place} '{rescored.token.strip()}' lies {rescored.gap:.3g} nats behind "
    worst += f"'{rescored.rival.strip()}' to the quiet model"
    if rescored.control_gap is None or rescored.control_gap > ROUNDING_NATS_MAX:
        return verdict, f"{reason}; re-scored in vain: the reply given alone does not fit the quiet model either"
    if verdict is Verdict.VIOLATED:
        return verdict, f"{reason}; {worst}"
    floor = max(noise.logprob or 0.0, rescored.control_gap)
    if rescored.gap > max(ROUNDING_NATS_MAX, CORRUPT_SHIFTS * floor):
        return Verdict.VIOLATED, f"{worst}: rounding does not bridge that"
    if rescored.gap <= FLIP_SHIFTS * floor:
        return Verdict.NUMERIC, f"{worst}, and rounding moves it by up to {floor:.3g}: a near tie"
    return Verdict.UNKNOWN, f"{reason}; {worst}: too close to tell"
