"""All 38 quirks of facts/formats.md section 3 as bytes: whole, byte by byte, and split at every position.

Owns: that each number has a stream, that no split changes what is read, and that no text is lost. What each comes to
under the oracles is in tests/results/test_quirks.py. Floor: tests. The bytes are ours.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.transport.contract import Reply, Stamps
from harness.transport.errors import EngineProtocolError
from harness.transport.reply import ReplyBuilder
from results.findings import Kind, Verdict
from results.oracles.judge import judge_turn
from results.records import ToolCall
from tests.harness.transport.streams import DONE, call, calls, chunk, read
from tests.results.builders import EXPECTED, context
from tests.results.test_quirks import SOUND, UNJUDGED, record

NAME, ARGUMENTS = EXPECTED.name, json.dumps(EXPECTED.arguments, ensure_ascii=False)
STOP = chunk({}, reason="stop") + DONE
BAR = "\N{FULLWIDTH VERTICAL LINE}"
CUT_TAG = (f"<{BAR}DS", f"ML{BAR}", "tool_", "calls>")
TWO = (ToolCall("a", "book_table", '{"x": 1}'), ToolCall("b", "cancel_table", "{}"))


def named(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


ANTHROPIC = (
    named("message_start", message={"content": [], "usage": {"input_tokens": 9, "cache_read_input_tokens": 4}})
    + named("content_block_start", index=0, content_block={"type": "thinking", "thinking": ""})
    + named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Hm."})
    + named("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "x"})
    + named("ping")
    + named("content_block_start", index=1, content_block={"type": "text", "text": ""})
    + named("content_block_delta", index=1, delta={"type": "text_delta", "text": "Ich prüfe 📦"})
    + named("content_block_stop", index=1)
    + named("content_block_start", index=2, content_block={"type": "tool_use", "id": "t", "name": NAME, "input": {}})
    + named("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": ""})
    + named("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": ARGUMENTS[:9]})
    + named("content_block_delta", index=2, delta={"type": "input_json_delta", "partial_json": ARGUMENTS[9:]})
    + named("something_new", index=2)
    + named("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 20})
    + named("message_stop")
)
MORE = {
    "Q6 parallel calls, all of index 0": chunk(call('{"x": 1}', index=0, id="a", name="book_table"))
    + chunk(call("{}", index=0, id="b", name="cancel_table"))
    + STOP,
    "Q5 parallel calls without an index": chunk(
        calls(call('{"x": 1}', id="a", name="book_table"), call("{}", id="b", name="cancel_table"))
    )
    + STOP,
    "Q8 arguments before the name": chunk(call('{"x"', index=0, id="a"))
    + chunk(call(": 1}", index=0, name="book_table"))
    + chunk(call("{}", index=1, id="b", name="cancel_table"))
    + STOP,
    "Q25 wide characters": chunk({"content": "naïve 語 📦 e\u0301"}) + STOP,
    "Q26 tags cut between deltas": "".join(
        chunk({"content": piece}) for piece in (f"<{BAR}DS", f"ML{BAR}", "tool_", "calls>")
    )
    + STOP,
    "Q35 Anthropic": ANTHROPIC,
    "Q36 ends as if all were well": chunk({"content": "half a sen"}) + STOP,
    "Q37 nested error": named("error", error={"error": {"type": "overloaded_error", "message": "too busy"}}),
    "Q38 no token at all": chunk({"role": "assistant", "content": ""}) + STOP,
}
ALL = {**SOUND, **UNJUDGED, **MORE}


def timeless(reply: Reply) -> dict[str, Any]:
    plain = dataclasses.replace(reply, arrived=Stamps(None, None), error=None, text_ns=())
    return {**dataclasses.asdict(plain), "error": str(reply.error)}


def test_every_number_has_a_stream() -> None:
    # Q33 is about a body that is not streamed; it has a test of its own below.
    numbers = {int(number) for name in ALL for number in re.findall(r"Q(\d+)", name)} | {33}
    assert numbers == set(range(1, 39))


@pytest.mark.parametrize("name", ALL)
def test_no_split_changes_what_is_read(name: str) -> None:
    raw = ALL[name].encode()
    whole = timeless(read(raw))
    assert whole["raw"].encode() == raw
    assert timeless(read(raw, cuts=range(1, len(raw)))) == whole
    for cut in range(1, len(raw)):
        assert timeless(read(raw, cuts=[cut])) == whole, cut


@pytest.mark.parametrize("name", ["Q6 parallel calls, all of index 0", "Q5 parallel calls without an index",
                                  "Q8 arguments before the name"])  # fmt: skip
def test_parallel_calls_stay_apart(name: str) -> None:
    assert read(MORE[name]).tool_calls == TWO


def test_text_comes_through_whole() -> None:
    assert read(MORE["Q25 wide characters"]).content == "naïve 語 📦 e\u0301"
    assert read(MORE["Q26 tags cut between deltas"]).content == f"<{BAR}DSML{BAR}tool_calls>"
    assert read(MORE["Q36 ends as if all were well"]).content == "half a sen"


def test_anthropic_stream_is_read_as_what_it_means() -> None:
    reply = read(ANTHROPIC)
    assert (reply.content, reply.reasoning, reply.finish_reason) == ("Ich prüfe 📦", "Hm.", "tool_calls")
    assert reply.tool_calls == (ToolCall("t", NAME, ARGUMENTS),)
    assert (reply.error, reply.quirks) == (None, ())
    assert reply.usage is not None
    assert dataclasses.astuple(reply.usage) == (9, 20, 4)
    assert judge_turn(record(reply), context()).verdict is Verdict.OK
    damaged = read(ANTHROPIC.replace("Lindenhof", "Lindenof"))
    assert judge_turn(record(damaged), context()).verdict is Verdict.VIOLATED


def test_anthropic_stream_that_stops_is_cut() -> None:
    error = read(ANTHROPIC[: ANTHROPIC.index("event: message_delta")]).error
    assert isinstance(error, EngineProtocolError)
    assert error.fault == "cut"


def test_nested_error_says_what_it_says() -> None:
    error = read(MORE["Q37 nested error"]).error
    assert isinstance(error, EngineProtocolError)
    assert (error.fault, error.detail) == ("error_in_stream", "too busy")


def test_a_200_without_tokens_is_a_symptom_and_no_quirk() -> None:
    assert judge_turn(record(read(MORE["Q38 no token at all"])), context()).kind is Kind.EMPTY_REPLY


def test_wrapped_body() -> None:
    builder = ReplyBuilder(status=200)
    choice = {"message": {"content": "hi"}, "finish_reason": "stop"}
    builder.body(json.dumps({"data": {"choices": [choice]}, "success": True}).encode(), now_ns=0)
    assert builder.reply(end_ns=0).content == "hi"


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    st.lists(st.tuples(TEXTS, st.booleans(), st.sampled_from(["", ": ping\n\n", "data:\n\n"])), max_size=8), st.data()
)
def test_fast_reading_and_full_reading_give_the_same_text(pieces: list[tuple[str, bool, str]], data: Any) -> None:
    """An extra field makes an event take the long way; what is read must not depend on it."""
    stream = "".join(
        noise + chunk({"content": text}, usage={"prompt_tokens": 1} if is_odd else None)
        for text, is_odd, noise in pieces
    )
    raw = (stream + STOP).encode()
    reply = read(raw, cuts=data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    assert reply.content == "".join(text for text, _, _ in pieces)
    assert len(reply.text_ns) == sum(bool(text) for text, _, _ in pieces)
