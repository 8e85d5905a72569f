# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are what this file is about.
"""Token salad is found, sound text is not taken for it. Floor: tests."""

from __future__ import annotations

import json

import pytest

from results.findings import Kind, Verdict
from results.oracles import salad
from results.oracles.judge import judge_turn
from results.oracles.scripts import EAST_ASIAN, LATIN, script_of, scripts_of
from results.records import ExpectedCall, SessionRecord, TurnRecord
from tests.results.builders import call, context, said, turn
from tests.results.corpus import PROSE, STRUCTURED, json_salad_texts, salad_texts, sound_turns


def test_a_thousand_sound_replies_raise_no_alarm() -> None:
    alarms = [
        (record, judgement)
        for record in sound_turns(seed=11, per_text=30)
        if (judgement := judge_turn(record, context())).verdict is not Verdict.OK
    ]
    assert alarms == []


@pytest.mark.parametrize("text", [*PROSE.values(), *STRUCTURED])
def test_sound_text_without_the_call_is_a_lost_call_and_no_salad(text: str) -> None:
    judgement = judge_turn(said(text), context())
    assert judgement.verdict is Verdict.VIOLATED
    assert judgement.kind in (Kind.LOST_CALL, Kind.TOKEN_SALAD)
    strong = [finding for finding in judgement.findings if "take turns" in finding.reason or "U+" in finding.reason]
    assert strong == []
    if text in PROSE.values():
        assert judgement.kind is Kind.LOST_CALL


def test_woven_scripts_are_salad_even_beside_the_right_call() -> None:
    texts = list(salad_texts(seed=3, count=200))
    missed = [text for text in texts if judge_turn(turn(content=text), context()).kind is not Kind.TOKEN_SALAD]
    assert missed == []


def test_woven_scripts_that_the_prompt_has_are_no_salad() -> None:
    glossary = "кот 猫 狗 собака лошадь 马 птица 鸟, рыба 鱼"
    assert judge_turn(turn(content=glossary), context()).kind is Kind.TOKEN_SALAD
    prompted = [SessionRecord(0, group=0, turn_count=1, scripts=tuple(scripts_of("Слова и 漢字")))]
    assert judge_turn(turn(content=glossary), context(sessions=prompted)).verdict is Verdict.OK
    expected = ExpectedCall("translate", {"pairs": glossary})
    planted = call("translate", json.dumps(expected.arguments))
    assert judge_turn(turn(content=glossary, expected=expected, tool_calls=(planted,)), context()).verdict is Verdict.OK


@pytest.mark.parametrize(
    "text",
    [
        "кот 猫, собака 狗, лошадь 马, птица 鸟, рыба 鱼",
        "'cat' is кот in Russian and 猫 in Chinese, 'good day' is добрый день and 你好, 'dog' is собака and 狗, so.",
    ],
)
def test_a_list_of_translations_in_one_line_is_no_salad(text: str) -> None:
    assert judge_turn(turn(content=text), context()).verdict is Verdict.OK
    jumbled = "кот 猫 狗 собака лошадь 马 птица 鸟 рыба"
    assert judge_turn(turn(content=jumbled), context()).kind is Kind.TOKEN_SALAD


def test_one_planted_script_does_not_excuse_two_others() -> None:
    expected = ExpectedCall("explain", {"word": "слово"})
    woven = "слово 天气 في слово 函数 هذا 时间 على"
    assert judge_turn(said(woven, expected=expected), context()).kind is Kind.TOKEN_SALAD
    assert salad.weave_of(woven, frozenset({"CYRILLIC", "ARABIC"})) is None
    weave = salad.weave_of("1\n" + woven, frozenset({"CYRILLIC"}))
    assert weave == salad.Weave(frozenset({EAST_ASIAN, "ARABIC"}), 4, 8, 33)


def test_pieces_of_json_are_named_salad_where_the_call_is_lost() -> None:
    kinds = [judge_turn(said(text), context()).kind for text in json_salad_texts(seed=5, count=300)]
    assert kinds.count(Kind.TOKEN_SALAD) >= 0.95 * len(kinds)
    assert set(kinds) <= {Kind.TOKEN_SALAD, Kind.LOST_CALL, Kind.WRONG_CALL}


@pytest.mark.parametrize("character", ["\ufffd", "\x00", "\x07", "\x9d", "\uffff"])
def test_characters_that_no_text_holds_are_salad(character: str) -> None:
    judgement = judge_turn(turn(content=f"I will book{character} it."), context())
    assert judgement.kind is Kind.TOKEN_SALAD
    span = judgement.findings[0].span
    assert span is not None
    assert character in span.text


def test_a_replacement_character_inside_an_argument_is_salad() -> None:
    damaged = turn(tool_calls=(call(restaurant="Linden\ufffdof"),))
    assert judge_turn(damaged, context()).kind is Kind.TOKEN_SALAD


def test_half_a_character_at_the_end_of_a_cut_reply_is_no_salad() -> None:
    cut = said("Ich prüfe das f\ufffd", finish_reason="length")
    assert judge_turn(cut, context()).kind is Kind.TRUNCATED
    assert judge_turn(said("Ich prüfe das f\ufffd"), context()).kind is Kind.TOKEN_SALAD


def test_a_planted_replacement_character_is_no_salad() -> None:
    expected = ExpectedCall("explain", {"character": "\ufffd"})
    spelled = call("explain", '{"character": "\ufffd"}')
    assert judge_turn(turn(expected=expected, tool_calls=(spelled,)), context()).verdict is Verdict.OK
    told = said("You asked for \ufffd here.", expected=expected)
    assert judge_turn(told, context()).kind is Kind.LOST_CALL


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (said("region lookup the status of cit respect"), Kind.TOKEN_SALAD),
        (said("region"), Kind.LOST_CALL),
        (turn(tool_calls=(call(arguments='{"restaurant": status of the region lookup cit'),)), Kind.TOKEN_SALAD),
        (turn(tool_calls=(call(arguments='{"restaurant": "Lindenhof", "guests": 4, oops'),)), Kind.DAMAGED_ARGUMENTS),
        (turn(tool_calls=(call(restaurant="status of the region lookup"),)), Kind.DAMAGED_ARGUMENTS),
        (said('book_tabel {"restaurant": "Lindenhof"}'), Kind.WRONG_CALL),
    ],
)
def test_an_exact_models_wrong_text_is_salad_when_it_is_longer_than_a_slip(record: TurnRecord, kind: Kind) -> None:
    assert judge_turn(record, context(exact_replies=True)).kind is kind


def test_prose_stays_far_from_the_share_of_odd_characters_that_salad_has() -> None:
    shares = {name: salad.odd_share(text) for name, text in PROSE.items() if name != "physics"}
    assert max(shares.values()) < 0.08, shares
    assert salad.odd_share(PROSE["physics"]) < salad.ODD_SHARE_MIN
    assert min(map(salad.odd_share, json_salad_texts(seed=5, count=300))) > 2 * max(shares.values())
    assert salad.odd_share(" ") == 0.0


def test_scripts_inside_a_word_name_a_wrong_reply() -> None:
    glued = said("tradeको succeedingы romantic trusted contract т rights")
    assert judge_turn(glued, context()).kind is Kind.TOKEN_SALAD
    assert judge_turn(turn(content=glued.content), context()).verdict is Verdict.OK, "not enough to stand on its own"


def test_salad_does_not_apply_to_nothing() -> None:
    reply = judge_turn(said(""), context())
    assert salad.NAME not in {finding.oracle for finding in reply.findings}


@pytest.mark.parametrize(
    ("letters", "script"),
    [
        ("aßＡé", LATIN),
        ("яї", "CYRILLIC"),
        ("的あｱ한ㄅ", EAST_ASIAN),
        ("ש", "HEBREW"),
        ("π", "GREEK"),
        ("1٣µ\u212a\u212b𝑥ª!\u0301😀", None),
    ],
)
def test_scripts_of_letters(letters: str, script: str | None) -> None:
    assert [script_of(letter) for letter in letters] == [script] * len(letters)


def test_scripts_of_a_text() -> None:
    assert scripts_of("plain") == {LATIN}
    assert scripts_of("Tシャツ и 5 €") == {LATIN, EAST_ASIAN, "CYRILLIC"}
