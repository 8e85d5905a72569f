# ruff: noqa: RUF001 - the bars of DeepSeek's tokens are what this file is about.
"""Control tokens, markup in the wrong place, a wrong first token, silence, bent protocol: planted and clean.

Floor: tests. Source: ours; the shapes are those of public reports.
"""

from __future__ import annotations

import json

import pytest

from harness.transport.errors import EngineTimeout
from results.findings import Kind, Severity, Verdict
from results.oracles import first_token, hang, protocol
from results.oracles.judge import judge_turn
from results.oracles.reply import read_reply
from results.records import ExpectedCall, ToolSchema, TurnRecord
from tests.results.builders import EXPECTED, TOOLS, call, context, said, turn

ARGUMENTS = json.dumps(EXPECTED.arguments)
WHOLE = json.dumps({"name": EXPECTED.name, "arguments": EXPECTED.arguments})


@pytest.mark.parametrize(
    "record",
    [
        turn(content="I will book <|im_start|> it now."),
        turn(content="so<｜begin▁of▁sentence｜>far"),
        turn(content="as you said <|reserved_special_token_7|> fine"),
        turn(content="caf<0xC3><0xA9> it is"),
        said("Of course.<|eot_id|>user I want more."),
        turn(tool_calls=(call(restaurant="Linden<|im_end|>hof"),)),
        said("I <pad> <pad> will see"),
    ],
)
def test_a_control_token_inside_a_reply_is_found(record: TurnRecord) -> None:
    judgement = judge_turn(record, context())
    assert (judgement.verdict, judgement.kind) == (Verdict.VIOLATED, Kind.CONTROL_TOKENS)


@pytest.mark.parametrize(
    "text",
    [
        "ChatML frames each turn with `<|im_start|>` and a role.",
        "```\n<|begin_of_text|>system\n```",
        'Strip the "<|endoftext|>" first.',
        "The <|im_end|> token ends a turn.",
        "<s>struck out</s> and [MASK] in prose, <pad> too",
        "f <| x |> g, a <|> b, <|>",
        "x <|y|> z",
    ],
)
def test_text_about_control_tokens_is_sound(text: str) -> None:
    assert judge_turn(turn(content=text), context()).verdict is Verdict.OK


@pytest.mark.parametrize(
    "text", ["It is booked.<|im_end|>", "<|begin_of_text|>It is booked.", "Done <｜end▁of▁sentence｜>\n"]
)
def test_a_token_that_was_not_stripped_from_the_edge_is_a_note(text: str) -> None:
    judgement = judge_turn(turn(content=text), context())
    assert judgement.verdict is Verdict.OK
    assert [(finding.kind, finding.severity) for finding in judgement.findings] == [
        (Kind.UNPARSED_MARKUP, Severity.NOTE)
    ]


@pytest.mark.parametrize("text", ["They emit the <|im_start|> tok", "Strip `<|im_start|>", 'The "<|im_start|>'])
def test_a_token_where_a_reply_was_cut_is_not_judged(text: str) -> None:
    for reason in (None, "length"):
        judgement = judge_turn(said(text, finish_reason=reason), context())
        assert judgement.verdict is Verdict.UNKNOWN
    earlier = said(f"so <|im_start|> it {text}", finish_reason=None)
    assert judge_turn(earlier, context()).kind is Kind.CONTROL_TOKENS


def test_a_tool_may_speak_of_a_token() -> None:
    tool = ToolSchema("book_table", "Never send <|im_start|> here.", TOOLS[0].parameters)
    text = turn(content="I send no <|im_start|> there, as told.")
    assert judge_turn(text, context(tools=[tool])).verdict is Verdict.OK
    assert judge_turn(text, context()).kind is Kind.CONTROL_TOKENS


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (turn(tool_calls=(call(restaurant="Linden</tool_call>hof"),)), "stands in tool_calls[0].arguments"),
        (said(f'<tool_call>\n{{"name": "{EXPECTED.name}", "arguments": {ARGUMENTS[:20]}'), "opened and never closed"),
        (said("<think>\nThey want a table."), "reasoning was opened and never closed"),
        (turn(content="a reli</think>able place"), "stands inside a word"),
        (said("I read the file.</tool_call>"), "a call was closed that was never opened"),
    ],
)
def test_markup_in_the_wrong_place_is_found(record: TurnRecord, reason: str) -> None:
    judgement = judge_turn(record, context())
    assert judgement.verdict is Verdict.VIOLATED
    found = {finding.kind: finding for finding in judgement.findings}[Kind.MISPLACED_MARKUP]
    assert reason in found.reason
    assert found.span is not None


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>\n{WHOLE}\n</tool_call>",
        f"Let me see.\n<tool_call>\n{WHOLE}\n</tool_call>",
        f"<function={EXPECTED.name}>{ARGUMENTS}</function>",
        f"[TOOL_CALLS] [{WHOLE}]",
        f"<|python_tag|>{WHOLE}",
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{EXPECTED.name}\n```json\n{ARGUMENTS}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ],
)
def test_a_whole_call_in_any_markup_is_the_parsers_fault(text: str) -> None:
    judgement = judge_turn(said(text), context())
    assert judgement.verdict is Verdict.OK
    assert judgement.findings[0].kind is Kind.UNPARSED_CALL


@pytest.mark.parametrize(
    "text", ["<think>\nHm.\n</think>\nNow.", "They want it.\n</think>\n\n", "Use a <think> tag once."]
)
def test_reasoning_that_a_parser_left_behind_is_no_corruption(text: str) -> None:
    assert judge_turn(turn(content=text), context()).verdict is Verdict.OK


def test_a_missing_tag_around_the_right_call_is_unknown() -> None:
    judgement = judge_turn(said(f"<tool_call>\n{WHOLE}\n"), context())
    assert (judgement.verdict, judgement.kind) == (Verdict.UNKNOWN, Kind.UNPARSED_CALL)
    assert "the engine may have lost the tag, or the parser" in judgement.findings[-1].reason


@pytest.mark.parametrize(
    ("record", "begins"),
    [
        (turn(tool_calls=(call("xxok_table"),)), "its name begins 'xx' instead of 'bo'"),
        (said(f"0 {EXPECTED.name} {ARGUMENTS}"), "the planted call stands behind '0'"),
        (said(f"的{EXPECTED.name} {ARGUMENTS}"), "the planted call stands behind '的'"),
    ],
)
def test_a_wrong_first_token_is_found(record: TurnRecord, begins: str) -> None:
    judgement = judge_turn(record, context())
    assert (judgement.verdict, judgement.kind) == (Verdict.VIOLATED, Kind.WRONG_FIRST_TOKEN)
    assert begins in {finding.oracle: finding for finding in judgement.findings}[first_token.NAME].reason


@pytest.mark.parametrize(
    "record",
    [
        said(f"Sure: {EXPECTED.name} {ARGUMENTS}"),
        said(f"I will do that for you right away. {EXPECTED.name} {ARGUMENTS}"),
        said(f"functions.{EXPECTED.name} {ARGUMENTS}"),
        said(f"先查訂單，再開發票。\n<|python_tag|>{WHOLE}"),
        said(f"我马上查一下 {EXPECTED.name} {ARGUMENTS}"),
        said(f"Okay\n{EXPECTED.name} {ARGUMENTS}"),
        said(f"Okay\n<tool_call>{WHOLE}</tool_call>"),
        turn(tool_calls=(call("cancel_table"),)),
        turn(tool_calls=(call("xxok_table", "{}"),)),
    ],
)
def test_other_beginnings_are_no_wrong_first_token(record: TurnRecord) -> None:
    kinds = {finding.kind for finding in judge_turn(record, context()).findings}
    assert Kind.WRONG_FIRST_TOKEN not in kinds


SILENT = "http://x/v1/chat/completions: nothing more came within 2 s"


def test_silence_is_a_hang_and_never_corruption() -> None:
    record = said("I will", finish_reason=None, error=SILENT, finished_ns=None)
    judgement = judge_turn(record, context())
    assert (judgement.verdict, judgement.kind) == (Verdict.UNKNOWN, Kind.HANG)


@pytest.mark.parametrize(
    ("ended_ns", "reason"),
    [
        ([1_500_000_000, 1_900_000_000, 9_000_000_000], "while 2 other replies ended: this request hangs"),
        ([500, 9_000_000_000], "no other reply ended in that time: the server hangs"),
    ],
)
def test_a_request_that_hangs_is_told_from_a_server_that_does(ended_ns: list[int], reason: str) -> None:
    record = said("", finish_reason=None, error=SILENT, finished_ns=None, first_token_ns=None, sent_ns=1_000_000_000)
    (finding,) = hang.judge(read_reply(record), context(ended_ns=ended_ns))
    assert reason in finding.reason
    assert "2 s after the request was sent" in finding.reason


def test_the_clients_timeout_is_written_as_the_oracle_reads_it() -> None:
    assert hang.is_silence(str(EngineTimeout("http://x", phase="read", limit_s=2.0)))
    assert not hang.is_silence(str(EngineTimeout("http://x", phase="connect", limit_s=2.0)))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (turn(finish_reason="stop"), "'stop' though calls were made"),
        (turn(finish_reason="eos"), "which the protocol does not know"),
        (turn(completion_tokens=64), "the limit on tokens was reached"),
    ],
)
def test_bent_protocol_is_a_note(record: TurnRecord, reason: str) -> None:
    judgement = judge_turn(record, context(max_tokens=64))
    assert judgement.verdict is Verdict.OK
    (finding,) = (finding for finding in judgement.findings if finding.oracle == protocol.NAME)
    assert (finding.kind, finding.severity) == (Kind.QUIRK, Severity.NOTE)
    assert reason in finding.reason
    assert judge_turn(turn(), context(max_tokens=64)).findings == ()


def test_a_secret_word_that_came_back_damaged_is_named() -> None:
    expected = ExpectedCall("book_table", {"restaurant": "marzipan-71", "guests": 4})
    damaged = turn(expected=expected, tool_calls=(call(arguments='{"restaurant": "marzipan-7", "guests": 4}'),))
    assert "the secret word 'marzipan-71' did not come back" in judge_turn(damaged, context()).findings[0].reason


@pytest.mark.parametrize("filler", [" ", '"",', '"', "<", "{", "```", "functions.", "\n", "[", "<|", "`", '"name":'])
def test_hostile_text_costs_no_more_than_its_length(filler: str) -> None:
    """A regular expression that tries every split of this would not come back before the test's time-out."""
    page = filler * 20_000
    for text in (page, f"{EXPECTED.name}{page}", f"{page}x{EXPECTED.name} {ARGUMENTS}", f"{EXPECTED.name}{page}x{{"):
        assert judge_turn(said(text), context()).verdict is not None
