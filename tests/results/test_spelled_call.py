# ruff: noqa: RUF001 - the bars of DeepSeek's markup and other scripts are what this file is about.
"""Calls that a parser left in the content, in the markup of model families, and the same with one letter wrong; odd
spellings of arguments; reasoning.

Each text was written by hand after the family's public chat template. Floor: tests.
"""

from __future__ import annotations

import json

import pytest

from results.findings import Kind, Verdict
from results.oracles.judge import judge_turn
from results.records import ExpectedCall
from tests.results.builders import EXPECTED, call, context, said, turn

ARGUMENTS = json.dumps(EXPECTED.arguments)
SPELLINGS = {
    "Hermes, arguments first": f'<tool_call>\n{{"arguments": {ARGUMENTS}, "name": "book_table"}}\n</tool_call>',
    "OpenAI's list": json.dumps([{"type": "function", "function": {"name": "book_table", "arguments": ARGUMENTS}}]),
    "Qwen3-Coder": (
        "<tool_call>\n<function=book_table>\n<parameter=restaurant>\nLindenhof\n</parameter>\n"
        "<parameter=guests>\n4\n</parameter>\n<parameter=outdoors>\nTrue\n</parameter>\n</function>\n</tool_call>"
    ),
    "GLM": (
        "<tool_call>book_table\n<arg_key>restaurant</arg_key>\n<arg_value>Lindenhof</arg_value>\n"
        "<arg_key>guests</arg_key>\n<arg_value>4</arg_value>\n"
        "<arg_key>outdoors</arg_key>\n<arg_value>true</arg_value>\n</tool_call>"
    ),
    "MiniMax": (
        '<invoke name="book_table">\n<parameter name="guests">4</parameter>\n'
        '<parameter name="restaurant">Lindenhof</parameter>\n<parameter name="outdoors">true</parameter>\n</invoke>'
    ),
    "DeepSeek DSML": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="book_table">\n'
        '<｜DSML｜parameter name="restaurant" string="true">Lindenhof</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="guests" string="false">4</｜DSML｜parameter>\n'
        '<｜DSML｜parameter name="outdoors" string="false">true</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "Llama 4": '[book_table(restaurant="Lindenhof", guests=4, outdoors=True)]',
    "GPT-OSS": (
        "<|start|>assistant<|channel|>commentary to=functions.book_table <|constrain|>json<|message|>"
        f"{ARGUMENTS}<|call|>"
    ),
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize("remark", ["", "I will book it now.\n"])
def test_the_planted_call_in_a_familys_own_markup_is_a_parser_that_missed_it(text: str, remark: str) -> None:
    judgement = judge_turn(said(remark + text), context())
    assert judgement.verdict is Verdict.OK, judgement.findings
    assert Kind.UNPARSED_CALL in [finding.kind for finding in judgement.findings]


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize(
    ("right", "wrong"), [("Lindenhof", "Lindenhot"), ("4", "5"), ("book_table", "boot_table"), ("guests", "guest")]
)
def test_the_same_with_one_letter_wrong_is_corruption(text: str, right: str, wrong: str) -> None:
    assert right in text
    judgement = judge_turn(said(text.replace(right, wrong)), context())
    assert judgement.is_corrupted, judgement


def test_one_parameter_too_many_or_too_few_is_corruption() -> None:
    whole = SPELLINGS["Qwen3-Coder"]
    guests = "<parameter=guests>\n4\n</parameter>\n"
    for text in (whole.replace(guests, ""), whole.replace(guests, guests + "<parameter=x>\n1\n</parameter>\n")):
        assert text != whole
        assert judge_turn(said(text), context()).is_corrupted


@pytest.mark.parametrize(
    "arguments",
    [
        '{"note": "two\nlines\tand a tab"}',
        json.dumps(json.dumps({"note": "two\nlines\tand a tab"})),
    ],
    ids=["line breaks as they are", "encoded twice"],
)
def test_arguments_in_a_lenient_spelling_are_the_planted_ones(arguments: str) -> None:
    expected = ExpectedCall("book_table", {"note": "two\nlines\tand a tab"})
    for text, is_corrupted in ((arguments, False), (arguments.replace("two", "tvo"), True)):
        record = turn(expected=expected, tool_calls=(call(arguments=text),))
        assert judge_turn(record, context()).is_corrupted is is_corrupted


def test_null_says_that_a_call_has_no_arguments() -> None:
    nothing = ExpectedCall("cancel_table", {})
    assert (
        judge_turn(turn(expected=nothing, tool_calls=(call("cancel_table", "null"),)), context()).verdict is Verdict.OK
    )
    assert judge_turn(turn(tool_calls=(call(arguments="null"),)), context()).kind is Kind.DAMAGED_ARGUMENTS


def test_a_replacement_character_in_quotes_is_spoken_of() -> None:
    assert judge_turn(turn(content='Bad bytes are shown as "\ufffd".'), context()).verdict is Verdict.OK
    assert judge_turn(turn(content="I will b\ufffdok it."), context()).kind is Kind.TOKEN_SALAD


def test_reasoning_is_heard_for_what_no_text_may_hold() -> None:
    sound = turn(reasoning="They asked for <|im_end|>, so I book the Lindenhof.")
    assert judge_turn(sound, context()).verdict is Verdict.OK
    foreign = judge_turn(turn(reasoning="The user's word is velvet-otter."), context())
    assert foreign.kind is Kind.CROSS_TALK
    assert foreign.primary is not None
    assert foreign.primary.span is not None
    assert (foreign.primary.span.field, foreign.primary.span.text) == ("reasoning", "velvet-otter")
    woven = "слово 你好 مرحبا слово 你好 مرحبا слово 你好"
    assert judge_turn(turn(reasoning=woven), context()).kind is Kind.TOKEN_SALAD
