"""Each verdict of the serial check has its case, and each of its excuses can fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from results.findings import Verdict
from results.oracles.divergence import Observed
from results.oracles.judge import judge_turn
from results.records import TurnRecord
from results.serial.baseline import LoadedTurns
from results.serial.judging import Judged, judge_serial
from results.serial.record import Freshness, Rescored
from results.serial.turns import Asked
from tests.results.builders import SESSIONS, call, context, said, turn
from tests.results.test_divergence import FLIPPED, WORDS, spoken

WRONG: dict[str, Any] = {"tool_calls": (call(guests=44),)}
SALAD: dict[str, Any] = {"tool_calls": (), "content": "the of\x00\x00\x00 was\x00", "finish_reason": "stop"}


def observed(record: TurnRecord) -> Observed:
    return Observed(record, judge_turn(record, context()))


def asked(
    number: int, *, loaded: dict[str, Any] | None = None, alone: Sequence[dict[str, Any]] = ({}, {}),
    together: Sequence[dict[str, Any]] = ({},), sampled: bool = True, session: int = 0,
) -> Asked:  # fmt: skip
    """A turn of `session`; each reply is the planted call but for the changes given."""

    def reply(changes: dict[str, Any]) -> Observed:
        return observed(turn(session, number, **{"cached_tokens": 0, **changes}))

    return Asked(reply(loaded or {}), tuple(map(reply, alone)), tuple(map(reply, together)), sampled)


def judged(turns: Sequence[Asked], freshness: Freshness = Freshness.FLUSHED, of: int = 400, **more: Any) -> Judged:
    wrong = sum(one.was_wrong for one in turns)
    return judge_serial(turns, LoadedTurns([of // 50] * 50, [wrong, *[0] * 49]), freshness, **more)


RIGHT = [asked(number) for number in range(20)]
WRONG_UNDER_LOAD = asked(90, loaded=WRONG, sampled=False)
WRONG_ALONE_TOO = asked(91, loaded=WRONG, alone=(WRONG, WRONG), together=(WRONG,), sampled=False)


def test_right_everywhere() -> None:
    found = judged(RIGHT)
    assert (found.verdict, found.is_trusted, found.is_explained, found.base_rate) == (Verdict.OK, True, False, None)


def often(one: Asked) -> list[Asked]:
    return [replace(one) for _ in range(12)]


def test_right_alone_twice_and_wrong_under_load_is_corrupt() -> None:
    found = judged([*RIGHT, *often(WRONG_UNDER_LOAD)], of=50)
    assert (found.verdict, found.is_explained) == (Verdict.VIOLATED, False)
    assert "12 of 32 turns that were asked again are corrupt under load" in found.reason
    assert "alone 0 of 20 sampled turns are wrong, under load 12 of 50" in found.reason


def test_chance_is_ruled_out_before_a_model_is_acquitted() -> None:
    """One wrong argument in 400 turns: a model that errs once in 400 replies is not likely to do so in 20 more."""
    found = judged([*RIGHT, WRONG_UNDER_LOAD])
    assert (found.verdict, found.is_explained) == (Verdict.UNKNOWN, True)
    assert "1 of 21 turns that were asked again are corrupt under load" in found.reason
    assert "errs by chance is not ruled out (p 0.95), a longer load might decide" in found.reason
    few = judged([*RIGHT, *often(WRONG_UNDER_LOAD)[:6]], of=100)
    assert (few.verdict, few.reason.rpartition(", ")[2]) == (Verdict.UNKNOWN, "--serial-check 64 might decide")


def test_turns_that_are_wrong_alone_speak_for_chance() -> None:
    """However often each was asked: both replies alone may be one and the same."""
    wrong_alone = asked(93, alone=(WRONG, WRONG))
    sample = [asked(number) for number in range(60)]
    assert judged([*sample, *often(WRONG_UNDER_LOAD)], of=200).verdict is Verdict.VIOLATED
    found = judged([*sample, replace(wrong_alone), replace(wrong_alone), *often(WRONG_UNDER_LOAD)], of=200)
    assert (found.verdict, found.is_trusted) == (Verdict.UNKNOWN, True)
    assert "alone 2 of 62 sampled turns are wrong" in found.reason


def test_replies_alone_that_nobody_could_judge_are_not_right() -> None:
    cut: dict[str, Any] = {"tool_calls": (), "content": "", "finish_reason": "length"}
    unjudged = [asked(number, alone=(cut, cut)) for number in range(60)]
    found = judged([*unjudged, *often(WRONG_UNDER_LOAD)], of=200)
    assert (found.verdict, found.is_trusted) == (Verdict.UNKNOWN, False)
    lost = judged([*RIGHT, asked(90, loaded=WRONG, alone=(cut, cut), sampled=False)])
    assert (lost.verdict, lost.is_explained) == (Verdict.UNKNOWN, False)
    assert "could not be judged alone" in lost.reason


def test_wrong_turns_that_were_not_asked_are_not_explained() -> None:
    found = judged([*RIGHT, *often(WRONG_ALONE_TOO)])
    assert (found.verdict, found.is_explained) == (Verdict.OK, True)
    more = judge_serial([*RIGHT, *often(WRONG_ALONE_TOO)], LoadedTurns([8] * 50, [1] * 50), Freshness.FLUSHED)
    assert (more.verdict, more.is_explained) == (Verdict.UNKNOWN, True)
    assert "38 more were not asked; --serial-check 25 asks them all" in more.reason


def test_what_no_model_says_needs_no_rates() -> None:
    found = judged([*RIGHT, asked(90, loaded=SALAD, sampled=False)])
    assert (found.verdict, found.is_explained) == (Verdict.VIOLATED, False)
    # Beside it, nothing is left open of the others either.
    assert judged([*RIGHT, WRONG_UNDER_LOAD, asked(90, loaded=SALAD, sampled=False)]).verdict is Verdict.VIOLATED


def test_wrong_only_when_all_are_asked_at_once() -> None:
    """A longer load would have to show it, unless no model says such a thing."""
    found = judged([*RIGHT, *often(asked(92, together=(WRONG,)))])
    assert (found.verdict, found.is_explained) == (Verdict.UNKNOWN, True)
    assert "asked again, all at once" in found.reason
    assert judged([*RIGHT, asked(92, together=(SALAD,))]).verdict is Verdict.VIOLATED


def test_wrong_alone_on_a_fresh_cache_is_the_model() -> None:
    found = judged([*RIGHT, WRONG_ALONE_TOO])
    assert (found.verdict, found.is_explained) == (Verdict.OK, True)
    assert [one.reason for one in found.turns if one.was_wrong] == [
        "wrong alone as well, on a fresh cache: the model fails it by itself"
    ]
    # One such turn does not clear another one.
    assert judged([*RIGHT, WRONG_ALONE_TOO, *often(WRONG_UNDER_LOAD)], of=50).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("freshness", "cached_tokens", "verdict"),
    [
        (Freshness.KEPT, 512, Verdict.UNKNOWN),
        (Freshness.KEPT, None, Verdict.UNKNOWN),
        (Freshness.KEPT, 0, Verdict.OK),
        (Freshness.SALTED, 512, Verdict.UNKNOWN),
        (Freshness.SALTED, None, Verdict.UNKNOWN),
        (Freshness.SALTED, 0, Verdict.OK),
        # A second tier that no flush reaches.
        (Freshness.FLUSHED, 512, Verdict.UNKNOWN),
        (Freshness.FLUSHED, None, Verdict.OK),
        (Freshness.FLUSHED, 0, Verdict.OK),
    ],
)
def test_wrong_alone_on_pages_that_the_load_may_have_spoiled_is_not_the_models(
    freshness: Freshness, cached_tokens: int | None, verdict: Verdict
) -> None:
    again = {**WRONG, "cached_tokens": cached_tokens}
    found = judged([*RIGHT, asked(91, loaded=WRONG, alone=(again, again), sampled=False)], freshness)
    assert (found.verdict, found.is_explained) == (verdict, True)
    assert ("the model or the cache" in found.reason) == (verdict is Verdict.UNKNOWN)


def weak(wrong_alone: int, wrong_under_load: int, *, sample: int = 40) -> list[Asked]:
    """Turns of a model that fails some alone: the first ones alone and under load, the next under load only."""
    return [
        asked(
            number,
            loaded=WRONG if number < wrong_under_load else {},
            alone=(WRONG, WRONG) if number < wrong_alone else ({}, {}),
            together=(),
        )
        for number in range(sample)
    ]


def test_a_weak_model_is_judged_by_its_rates() -> None:
    same = judge_serial(weak(12, 12), LoadedTurns([8] * 50, [2, 3, 2] * 16 + [4, 4]), Freshness.FLUSHED)
    assert (same.verdict, same.is_explained, same.is_trusted) == (Verdict.UNKNOWN, True, False)
    assert "alone the model fails 30 % of 40 sampled turns" in same.reason
    assert "no excess is shown" in same.reason
    worse = judge_serial(weak(6, 26), LoadedTurns([8] * 50, [5, 5, 6, 5, 5] * 10), Freshness.FLUSHED)
    assert (worse.verdict, worse.is_explained) == (Verdict.VIOLATED, False)
    assert "load adds +50" in worse.reason


def test_a_model_that_wavers_is_not_trusted() -> None:
    found = judged([*RIGHT, asked(93, alone=({}, WRONG)), WRONG_UNDER_LOAD])
    assert (found.verdict, found.is_trusted, found.is_explained) == (Verdict.UNKNOWN, False, True)


@pytest.mark.parametrize("place", ["loaded", "alone", "together"])
def test_another_sessions_secret_is_no_models_doing(place: str) -> None:
    leaked, right = observed(said(f"the word is {SESSIONS[1].secrets[0]}", number=94)), asked(94).loaded
    replies = {where: leaked if where == place else right for where in ("loaded", "alone", "together")}
    one = Asked(replies["loaded"], (replies["alone"],) * 2, (replies["together"],), is_sampled=False)
    found = judged([*weak(12, 12), one])
    assert (found.verdict, found.is_explained, found.turns[-1].verdict) == (Verdict.VIOLATED, False, Verdict.VIOLATED)


def test_wrong_turns_without_an_answer_alone_explain_nothing() -> None:
    lost = asked(95, loaded=WRONG, alone=({"error": "boom", "finish_reason": None, "tool_calls": ()},), sampled=False)
    found = judged([*RIGHT, lost])
    assert (found.verdict, found.is_explained) == (Verdict.UNKNOWN, False)
    assert found.reason == "no wrong turn of the run could be asked again"
    assert judged([lost]).reason == "no turn got a whole reply alone"


def flipped(serial: TurnRecord, again: TurnRecord, loaded: TurnRecord, together: TurnRecord) -> Asked:
    return Asked(observed(loaded), (observed(serial), observed(again)), (observed(together),), is_sampled=True)


def words_of(records: Sequence[TurnRecord], *, number: int = 0) -> list[TurnRecord]:
    return [replace(record, turn=number) for record in records]


NOISE = flipped(*words_of([spoken(WORDS), spoken(WORDS), spoken(WORDS, 0.02), spoken(WORDS, -0.02)]))


def text_only(record: TurnRecord) -> TurnRecord:
    """A loaded reply whose stream gave no log-probabilities."""
    return replace(record, raw=None)


@pytest.mark.parametrize(
    ("margin", "verdict"), [(0.01, Verdict.NUMERIC), (0.4, Verdict.UNKNOWN), (2.5, Verdict.VIOLATED)]
)
def test_margins_are_found_by_the_loaded_text_alone(margin: float, verdict: Verdict) -> None:
    serial = [spoken(WORDS, margins={5: margin})] * 2
    one = flipped(*words_of([*serial, text_only(spoken(FLIPPED)), spoken(WORDS)], number=1))
    found = judged([NOISE, one])
    assert found.turns[1].verdict is verdict, found.turns[1].reason
    assert found.verdict is verdict


def test_a_server_that_samples_is_not_convicted_by_a_margin() -> None:
    serial = [spoken(WORDS, margins={5: 2.5})] * 2
    one = flipped(*words_of([*serial, text_only(spoken(FLIPPED)), spoken(WORDS)], number=1))
    restless = flipped(*words_of([spoken(WORDS), spoken(FLIPPED), spoken(WORDS), spoken(WORDS)], number=2))
    found = judged([NOISE, one, restless])
    assert found.turns[1].verdict is Verdict.UNKNOWN
    assert "do not even repeat themselves" in found.turns[1].reason


@pytest.mark.parametrize(
    ("gap", "control", "verdict", "why"),
    [
        (3.0, 0.1, Verdict.VIOLATED, "rounding does not bridge that"),
        (0.01, 0.01, Verdict.NUMERIC, "a near tie"),
        (0.6, 0.01, Verdict.UNKNOWN, "too close to tell"),
        (9.0, 4.0, Verdict.UNKNOWN, "re-scored in vain"),
        (9.0, None, Verdict.UNKNOWN, "re-scored in vain"),
    ],
)
def test_what_a_margin_leaves_open_re_scoring_may_close(
    gap: float, control: float | None, verdict: Verdict, why: str
) -> None:
    serial = [text_only(spoken(WORDS))] * 2
    one = flipped(*words_of([*serial, text_only(spoken(FLIPPED)), spoken(WORDS)], number=1))
    rescored = Rescored(0, 1, gap, control, 60, 5, "else", "w5")
    found = judged([NOISE, one], rescored=[rescored])
    assert found.turns[1].verdict is verdict
    assert why in found.turns[1].reason
