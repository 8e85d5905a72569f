"""No reply is so odd that judging it ends in an error: a server may say anything, and the run must go on.

Floor: tests. Source: ours; each named case once ended a run.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from results.findings import Kind, Verdict
from results.lines import encode_line
from results.oracles import exact_call, schema
from results.oracles.context import canonical_call
from results.oracles.divergence import Observed, TurnReplies, judge_divergence
from results.oracles.exact_call import first_difference
from results.oracles.judge import judge_turn
from results.oracles.logprobs import tokens_in
from results.oracles.raw_reply import read_raw_reply
from results.oracles.reply import read_reply
from results.records import ExpectedCall, ToolCall, ToolSchema, TurnRecord
from tests.results.builders import EXPECTED, call, context, said, turn

SMALL = ExpectedCall("f", {"a": "x"})
LINES = ExpectedCall("f", {"a": "x\ny"})
BARE = ExpectedCall("f", {})
TOOLS = (ToolSchema("f", "", {"properties": {"a": {"type": "string", "enum": ["x", "x\ny"]}}, "required": ["a"]}),)
JUDGES = tuple(
    context(tools=TOOLS, planted=[(0, 0, SMALL), (1, 0, EXPECTED)], ended_ns=[5], exact_replies=exact, max_tokens=limit)
    for exact, limit in ((False, None), (True, 24))
)

# Text of every kind of character, half surrogate pairs and NUL among them, and pieces that parsers stumble over.
odd_text = st.text(st.characters(exclude_categories=()), max_size=6)
deep = st.integers(1, 1_100).map(lambda depth: "[" * depth + "]" * depth)
digits = st.sampled_from([20, 400, 4_000, 5_000]).map(lambda count: "9" * count)
pieces = st.sampled_from([
    "f", "f(", "f(a=", ")", "{", "}", "[", "]", '"', ",", ":", "=", "\n", " ", "\x00", "\\", "\\d", "\ud83d", "\\ud83d",
    "a", '"a"', '"x"', '"a":', '"x\ny"', '{"a": "x"}', '{"a": "x\ny"}', '{"name": "f", "arguments": ', "f {", "NaN",
    "-Infinity", "1e999", "1j", "+1j", "null", "{{1: 2}}", "{[1]: 2}", "<parameter=a>", "</parameter>", "<function=f>",
    "<tool_call>", "```", "<think>", "<|im_end|>", "x ",
])  # fmt: skip
odd = st.lists(st.one_of(pieces, odd_text, digits, deep), max_size=9).map("".join)
keys = st.sampled_from(["a", "b", "\ud83d"])
odd_json = st.one_of(odd, st.tuples(keys, odd).map(lambda pair: f'{{"{pair[0]}":{pair[1]}}}'))
said_it = st.sampled_from(["f {}", 'f {{"a": {}}}', "f(a={})", '{{"name": "f", "arguments": {}}}', "<function=f>{}"])
contents = st.one_of(odd, st.tuples(said_it, odd).map(lambda pair: pair[0].format(pair[1])))
names = st.one_of(st.sampled_from(["f", "g", EXPECTED.name, ""]), odd_text)
replies = st.fixed_dictionaries({
    "content": contents,
    "reasoning": contents,
    "tool_calls": st.lists(st.builds(ToolCall, odd_text, names, odd_json), max_size=2).map(tuple),
    "finish_reason": st.one_of(st.none(), st.sampled_from(["stop", "tool_calls", "length", "error"]), odd_text),
    "error": st.one_of(st.none(), odd.map(lambda text: f"nothing more came within {text} s"), odd),
    "raw": st.one_of(st.none(), odd, odd_json.map(lambda arguments: body_of(arguments))),
})  # fmt: skip


def body_of(arguments: str) -> str:
    """A server's answer whose one call has its arguments as JSON, and not as text."""
    return f'{{"choices":[{{"message":{{"tool_calls":[{{"function":{{"arguments":{arguments}}}}}]}}}}]}}'


@given(replies, st.sampled_from([SMALL, LINES, BARE, EXPECTED, None]), st.sampled_from(JUDGES))
@settings(max_examples=400)
def test_every_reply_is_judged_and_the_judgement_can_be_stored(
    reply: dict[str, Any], expected: ExpectedCall | None, judge: Any
) -> None:
    record = turn(expected=expected, **reply)
    assert encode_line(judge_turn(record, judge))
    word = turn(expected=None, expected_word="harbour", **reply)
    assert encode_line(judge_turn(word, judge))


@pytest.mark.parametrize("inside", ['{{"x": 1}}', "{[1]: 2}", "9" * 400 + "+1j", "{*()}", "f'{x}'"])
def test_python_that_is_no_value_is_no_planted_call(inside: str) -> None:
    judgement = judge_turn(said(f"f(a={inside})", expected=SMALL), JUDGES[0])
    assert judgement.kind is Kind.LOST_CALL


@pytest.mark.parametrize("name", ["f", "g"])
def test_half_a_surrogate_pair_in_arguments_is_damage(name: str) -> None:
    record = turn(expected=SMALL, tool_calls=(call(name, '{"a":\n"\\ud83d"}'),))
    assert judge_turn(record, JUDGES[0]).kind is (Kind.DAMAGED_ARGUMENTS if name == "f" else Kind.WRONG_CALL)


def test_equal_calls_are_spelled_alike_and_others_otherwise() -> None:
    assert canonical_call("f", {"a": "\ud83d", "b": "語"}) == canonical_call("f", {"b": "語", "a": "\ud83d"})
    values: list[Any] = ["\ud83d", "\ud83e", "?", None, float("nan"), 10**400, [], {}, "", True, 1]
    assert len({canonical_call("f", {"a": value}) for value in values}) == len(values)


@pytest.mark.parametrize("depth", range(900, 1_000, 10))
def test_arguments_nested_too_deep_are_damage_and_their_schema_is_not_to_be_told(depth: int) -> None:
    record = turn(expected=SMALL, tool_calls=(call("f", '{"a":' + "[" * depth + "]" * depth + "}"),))
    assert judge_turn(record, JUDGES[0]).kind is Kind.DAMAGED_ARGUMENTS
    nobody_knows = judge_turn(turn(expected=None, tool_calls=record.tool_calls), JUDGES[0])
    assert nobody_knows.verdict is Verdict.UNKNOWN


def test_what_the_validator_cannot_take_in_is_unknown() -> None:
    record = turn(expected=SMALL, tool_calls=(call("f", '{"a":' + "[" * 700 + "]" * 700 + "}"),))
    (finding,) = schema.judge(read_reply(record), JUDGES[0])
    assert finding.verdict is Verdict.UNKNOWN
    assert "cannot be held against its schema" in finding.reason


def test_a_value_too_deep_for_words_is_still_a_difference() -> None:
    nested: list[Any] = []
    for _ in range(5_000):
        nested = [nested]
    assert first_difference({"a": 1}, {"a": nested}) == "'a' is nested too deep to be shown instead of 1"
    reply = read_reply(turn(expected=SMALL, tool_calls=(call("f", "{}"),)))
    deeper = replace(reply, calls=(replace(reply.calls[0], arguments={"a": nested}),))
    (finding,) = exact_call.judge(deeper, JUDGES[0])
    assert (finding.kind, finding.reason) == (
        Kind.DAMAGED_ARGUMENTS, "argument 'a' is nested too deep to be shown instead of 'x'",
    )  # fmt: skip


@pytest.mark.parametrize("text", ['f {"a": "x\ny"}', '{"name": "f", "arguments": {"a": "x\ny"}}'])
@pytest.mark.parametrize("exact", [False, True])
def test_a_line_break_as_it_is_makes_the_planted_call_no_other_one(text: str, exact: bool) -> None:
    judgement = judge_turn(said(text, expected=LINES), JUDGES[exact])
    assert judgement.verdict is Verdict.OK
    assert Kind.UNPARSED_CALL in [finding.kind for finding in judgement.findings]


@pytest.mark.parametrize("limit", [".e", "1.2.3", "+", "1e999999", "9" * 400, "e", "1e", "NaN"])
def test_silence_without_a_readable_limit_is_a_hang_all_the_same(limit: str) -> None:
    record = said("", finish_reason=None, error=f"nothing more came within {limit} s")
    judgement = judge_turn(record, JUDGES[0])
    assert (judgement.verdict, judgement.kind) == (Verdict.UNKNOWN, Kind.HANG)


def test_a_raw_text_whose_call_cannot_be_written_down_holds_no_answer() -> None:
    for depth in range(850, 1_000, 5):
        nested = "[" * depth + "]" * depth
        found = read_raw_reply(body_of(nested))
        assert found is None or found.calls.replace(" ", "") == nested


def scored(*values: Any, best: Any = ()) -> str:
    """A body whose tokens `t0`, `t1` and so on have these log-probabilities, as JSON or as text that is none."""
    entries = [{"token": f"t{number}", "logprob": value, "top_logprobs": best} for number, value in enumerate(values)]
    return json.dumps({"choices": [{"message": {"content": ""}, "logprobs": {"content": entries}}]})


@pytest.mark.parametrize("best", [5, True, "abc", {"token": "a"}, [5, None, {"token": "a"}, {"logprob": True}], [[]]])
def test_rivals_that_are_none_are_left_out(best: Any) -> None:
    (token,) = tokens_in(scored(-0.5, best=best))
    assert (token.text, token.logprob, token.best) == ("t0", -0.5, ())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -(10**400), True, "-1", None])
def test_a_log_probability_that_cannot_be_reckoned_with_ends_the_reading(value: Any) -> None:
    assert [token.text for token in tokens_in(scored(-0.5, value, -0.5))] == ["t0"]
    rivals = [{"token": "odd", "logprob": value}, {"token": "far", "logprob": -9}, {"token": "near", "logprob": -1}]
    assert tokens_in(scored(-0.5, best=rivals))[0].best == (("near", -1.0), ("far", -9.0))


def test_a_floor_is_measured_by_numbers_alone() -> None:
    """One NaN made the floor NaN, and every difference far above it."""

    def record(content: str, *values: float) -> TurnRecord:
        return turn(content=content, raw=scored(*values, best=[{"token": "b", "logprob": -1.5}]))

    def compared(*records: TurnRecord) -> TurnReplies:
        alone, *loaded = (Observed(one, judge_turn(one, context())) for one in records)
        return TurnReplies((alone, alone), tuple(loaded))

    sound = [-0.1] * 120
    odd_one = [*sound[:60], float("nan"), *sound[61:]]
    report = judge_divergence([compared(record("a", *sound), record("a", *odd_one))])
    assert (report.verdict, report.noise.logprob, report.noise.token_count) == (Verdict.OK, 0.0, 120 + 60)
