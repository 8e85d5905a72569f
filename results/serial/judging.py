"""What the check says of the run: corrupt under load, rounding, the model itself, or not to be told?

Owns: joining the controls, the base rate and the re-scoring into one verdict. Does not own: one turn (`turns`), asking,
storing, and what the run's own verdict becomes (`outcome`). Floor 3. Source: ours; peers.md section 0.

A model that gives the planted answers alone is trusted: each of its turns that is right alone, twice, and wrong under
load is corrupt, if it says what no model says, or once it is ruled out that the model errs by chance (`chance`). One
that fails some alone is not trusted: then the rates are compared, and a single turn counts only where log-probabilities
show that rounding did not make it. A turn that is wrong alone as well is the model's, unless it read pages from a
cache: those of a broken one are wrong without any load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from results.findings import Verdict
from results.oracles.divergence import DivergenceReport, judge_divergence
from results.serial.baseline import AskedAgain, LoadedTurns, base_rate
from results.serial.chance import Chance, chance, may_be_the_model
from results.serial.record import BaseRate, Freshness, Rescored, SerialTurn
from results.serial.turns import Asked, Circumstances, judge_asked

TRUSTED_SHARE_MIN = 0.95
"""Of sampled turns that are right alone. A model below copies by chance now and then, and rounding may change it."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict part of a record; see `record.SerialRecord`."""

    verdict: Verdict
    reason: str
    is_explained: bool
    is_trusted: bool
    report: DivergenceReport
    turns: tuple[SerialTurn, ...]
    base_rate: BaseRate | None


def judge_serial(
    asked: Sequence[Asked], loaded: LoadedTurns, freshness: Freshness, rescored: Sequence[Rescored] = ()
) -> Judged:
    """Judge the check. Turns without a whole reply alone say nothing and are left out."""
    told = [one for one in asked if one.answers_alone]
    is_trusted = is_model_trusted(told)
    report = judge_divergence([one.replies() for one in told], is_trusted=is_trusted)
    around = Circumstances(report, freshness, is_trusted)
    by_key = {(one.session, one.turn): one for one in rescored}
    turns = tuple(
        judge_asked(one, said, around, by_key.get((said.session, said.turn)))
        for one, said in zip(told, report.turns, strict=True)
    )
    rate = _base_rate(told, loaded)
    verdict, reason, is_explained = _conclusion(told, turns, loaded, rate, is_trusted=is_trusted)
    return Judged(verdict, reason, is_explained, is_trusted, report, turns, rate)


def is_model_trusted(asked: Sequence[Asked]) -> bool:
    """Right alone nearly always, and never once right and once wrong."""
    sample = _sample(asked)
    wrong = sum(one.wrong_alone > 0 for one in sample)
    wavers = any(one.wavers for one in asked)
    return bool(sample) and not wavers and wrong <= (1 - TRUSTED_SHARE_MIN) * len(sample)


def _sample(asked: Sequence[Asked]) -> list[Asked]:
    return [one for one in asked if one.is_sampled and one.judged_alone]


def _base_rate(asked: Sequence[Asked], loaded: LoadedTurns) -> BaseRate | None:
    """Load against alone; None where no sampled turn, or no wrong one, could be judged alone."""
    sample = _sample(asked)
    wrong = [one for one in asked if one.was_wrong and one.judged_alone]
    if not sample or not wrong:
        return None
    again = AskedAgain(
        wrong_asked=len(wrong),
        right_alone=sum(1 - one.share_wrong_alone for one in wrong),
        sampled=len(sample),
        sample_wrong=sum(one.share_wrong_alone for one in sample),
        sample_only_alone=sum(one.share_wrong_alone for one in sample if not one.was_wrong),
    )
    return base_rate(loaded, again)


def _conclusion(
    asked: Sequence[Asked], turns: Sequence[SerialTurn], loaded: LoadedTurns, rate: BaseRate | None, *, is_trusted: bool
) -> tuple[Verdict, str, bool]:
    """Verdict, why, and whether the run's wrong turns are explained by something else than load."""
    if not asked:
        return Verdict.UNKNOWN, "no turn got a whole reply alone", False
    foreign = sum(one.has_foreign_secret for one in asked)
    if foreign:
        return Verdict.VIOLATED, f"{foreign} turns got another session's secret, which no model can make up", False
    corrupt = [(one, turn) for one, turn in zip(asked, turns, strict=True) if turn.verdict is Verdict.VIOLATED]
    if corrupt:
        by_chance = chance(asked, loaded)
        is_open = is_trusted and not by_chance.is_ruled_out and all(may_be_the_model(one) for one, _ in corrupt)
        words = _corrupt_words([turn for _, turn in corrupt], len(asked), by_chance)
        if is_open:
            return Verdict.UNKNOWN, f"{words}; {_left_open(by_chance)}", True
        return Verdict.VIOLATED, words, False
    wrong = [turn for turn in turns if turn.was_wrong]
    if wrong and rate is not None and not is_trusted:
        return _by_rate(rate)
    if wrong:
        return _of_wrong_turns(wrong, unasked=loaded.wrong_turns - len(wrong))
    if loaded.wrong_turns:
        return Verdict.UNKNOWN, "no wrong turn of the run could be asked again", False
    return (*_of_right_turns(turns), False)


def _corrupt_words(corrupt: Sequence[SerialTurn], asked: int, by_chance: Chance) -> str:
    what = f"{len(corrupt)} of {asked} turns that were asked again are corrupt under load"
    alone, loaded = by_chance.alone, by_chance.loaded
    rates = (
        f"alone {alone.wrong} of {alone.count} sampled turns are wrong, under load {loaded.wrong} of {loaded.count:,}"
    )
    return f"{what} (session {corrupt[0].session} turn {corrupt[0].turn}: {corrupt[0].reason}); {rates}"


def _left_open(by_chance: Chance) -> str:
    needed = by_chance.turns_needed
    is_enough = needed is not None and needed <= by_chance.loaded.count
    remedy = f"--serial-check {needed}" if is_enough else "a longer load"
    return f"a model that errs by chance is not ruled out (p {by_chance.p:.2g}), {remedy} might decide"


def _by_rate(rate: BaseRate) -> tuple[Verdict, str, bool]:
    alone = f"alone the model fails {100 * rate.alone.rate:.0f} % of {rate.alone.units:g} sampled turns"
    load = f"under load {rate.loaded.events:,g} of {rate.loaded.units:,g} are wrong"
    excess = f"{100 * rate.excess:+.1f} points ({100 * rate.excess_low:+.1f} to {100 * rate.excess_high:+.1f})"
    if rate.excess_low > 0:
        return Verdict.VIOLATED, f"{alone}, {load}: load adds {excess}", False
    more = "" if rate.turns_needed is None else f"; --serial-check {rate.turns_needed} might decide"
    return Verdict.UNKNOWN, f"{alone}, {load}: no excess is shown, {excess}{more}", True


def _of_wrong_turns(wrong: Sequence[SerialTurn], *, unasked: int) -> tuple[Verdict, str, bool]:
    """Of a trusted model: none of them was right alone, else it were corrupt."""
    doubtful = [turn for turn in wrong if turn.verdict is not Verdict.OK]
    if not doubtful:
        what = f"the {len(wrong)} wrong turns that were asked again are wrong alone as well: the model"
        if unasked <= 0:
            return Verdict.OK, what, True
        more = f"{unasked} more were not asked; --serial-check {ceil((len(wrong) + unasked) / 2)} asks them all"
        return Verdict.UNKNOWN, f"{what}; {more}", True
    what = f"{len(doubtful)} of {len(wrong)} wrong turns"
    if all(turn.wrong_alone for turn in doubtful):
        why = "are wrong alone as well, on cached pages: the model or the cache"
        return Verdict.UNKNOWN, f"{what} {why}", True
    return Verdict.UNKNOWN, f"{what} could not be judged alone", False


def _of_right_turns(turns: Sequence[SerialTurn]) -> tuple[Verdict, str]:
    for verdict, what in (
        (Verdict.UNKNOWN, "differ from their replies alone, and nothing tells why"),
        (Verdict.NUMERIC, "differ from their replies alone by rounding"),
    ):
        found = [turn for turn in turns if turn.verdict is verdict]
        if found:
            return verdict, f"{len(found)} of {len(turns)} turns {what} ({found[0].reason})"
    return Verdict.OK, f"all {len(turns)} turns say the same alone and under load"
