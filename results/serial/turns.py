"""One turn that was asked again: its verdict, with the cache, the re-scoring and the server's constancy beside it.

Owns: the verdict of one turn. Does not own: the controls' own argument (`oracles.divergence`), the run (`judging`).
Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from results.findings import Kind, Verdict
from results.oracles.divergence import Divergence, DivergenceReport, Observed, TurnReplies, has_come
from results.serial.record import Freshness, Rescored, SerialTurn
from results.serial.rescoring import judge_rescored


@dataclass(frozen=True, slots=True)
class Asked:
    """One turn: the run's own reply, the others, and why it was asked again."""

    loaded: Observed
    alone: tuple[Observed, ...]
    together: tuple[Observed, ...]
    is_sampled: bool

    @property
    def was_wrong(self) -> bool:
        return self.loaded.judgement.is_corrupted

    @property
    def answers_alone(self) -> tuple[Observed, ...]:
        """Whole replies; a request that failed says nothing of the model."""
        return tuple(one for one in self.alone if one.turn.error is None)

    @property
    def judged_alone(self) -> tuple[Observed, ...]:
        """Those that speak for the model or against it. One that was cut off at the limit does neither; one that has
        come to its end, where nobody knows the right answer, is not wrong."""
        return tuple(one for one in self.answers_alone if _speaks(one))

    @property
    def wrong_alone(self) -> int:
        return sum(one.judgement.is_corrupted for one in self.judged_alone)

    @property
    def share_wrong_alone(self) -> float:
        return self.wrong_alone / len(self.judged_alone)

    @property
    def wavers(self) -> bool:
        return 0 < self.wrong_alone < len(self.judged_alone)

    @property
    def has_foreign_secret(self) -> bool:
        """Whether any of its replies holds another session's secret."""
        replies = (self.loaded, *self.alone, *self.together)
        return any(one.judgement.kind is Kind.CROSS_TALK for one in replies)

    def replies(self) -> TurnReplies:
        together = tuple(one for one in self.together if one.turn.error is None)
        return TurnReplies(self.answers_alone, (self.loaded, *together))


def _speaks(one: Observed) -> bool:
    return one.judgement.verdict is not Verdict.UNKNOWN or has_come(one)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What all turns of a check have in common."""

    report: DivergenceReport
    freshness: Freshness
    is_trusted: bool


def judge_asked(asked: Asked, said: Divergence, around: Circumstances, rescored: Rescored | None) -> SerialTurn:
    """`said` is what the controls alone say of it."""
    cached = [one.turn.cached_tokens for one in asked.answers_alone if one.turn.cached_tokens is not None]
    cached_tokens = max(cached, default=None)
    if asked.has_foreign_secret:
        verdict, reason = Verdict.VIOLATED, "a reply holds another session's secret, which no model can make up"
    elif asked.was_wrong and not asked.judged_alone:
        verdict, reason = Verdict.UNKNOWN, "no reply alone could be judged"
    elif asked.wrong_alone:
        verdict, reason = _wrong_alone(asked, is_fresh=is_fresh(around.freshness, cached_tokens))
    else:
        verdict, reason = _with_margins(asked, said, around, rescored)
    return SerialTurn(
        session=said.session,
        turn=said.turn,
        is_sampled=asked.is_sampled,
        was_wrong=asked.was_wrong,
        alone=len(asked.judged_alone),
        wrong_alone=asked.wrong_alone,
        cached_tokens=cached_tokens,
        verdict=verdict,
        reason=reason,
        is_repeatable=said.is_repeatable,
    )


def is_fresh(freshness: Freshness, cached_tokens: int | None) -> bool:
    """Whether everything was computed anew: a page from any tier of the cache may be the very thing that is wrong."""
    # A server may ignore a salt that it does not know, and only its own count of cached tokens would show it.
    return cached_tokens == 0 or (cached_tokens is None and freshness is Freshness.FLUSHED)


def _wrong_alone(asked: Asked, *, is_fresh: bool) -> tuple[Verdict, str]:
    """Whatever it was under load: what is wrong without any is no doing of load."""
    said = "wrong alone as well" if asked.was_wrong else "wrong alone, and right under load"
    if is_fresh:
        return Verdict.OK, f"{said}, on a fresh cache: the model fails it by itself"
    return Verdict.UNKNOWN, f"{said}, on cached pages: the model or the cache"


def _with_margins(
    asked: Asked, said: Divergence, around: Circumstances, rescored: Rescored | None
) -> tuple[Verdict, str]:
    verdict, reason = said.verdict, said.reason
    if rescored is not None and verdict is not Verdict.OK:
        verdict, reason = judge_rescored(rescored, around.report.noise, verdict, reason)
    is_shown = around.is_trusted and any(one.judgement.is_corrupted for one in (asked.loaded, *asked.together))
    unsteady = around.report.serial_differs
    if verdict is Verdict.VIOLATED and not is_shown and unsteady:
        # No planted answer shows it, and a server that samples says improbable things now and then.
        return Verdict.UNKNOWN, f"{reason}; yet {unsteady} turns do not even repeat themselves alone"
    if is_shown and not asked.was_wrong:
        return verdict, f"asked again, all at once: {reason}"
    return verdict, reason
