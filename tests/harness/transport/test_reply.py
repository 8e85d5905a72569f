"""Whole replies from streams: each quirk a stream of its own, fed whole and byte by byte."""

from __future__ import annotations

import json

import pytest

from harness.transport.contract import Reply, ReplyUsage, Stamps
from harness.transport.errors import EngineProtocolError, EngineTimeout
from harness.transport.reply import ReplyBuilder
from results.records import ToolCall
from tests.harness.transport.streams import DONE, call, chunk, event, read

USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
HELLO = chunk({"role": "assistant", "content": ""}) + chunk({"content": "hel"}) + chunk({"content": "lo"})
STOP = chunk({}, reason="stop") + DONE


def _both_ways(stream: str | bytes) -> Reply:
    """Fed whole; checked against byte by byte, where only times may differ."""
    raw = stream.encode() if isinstance(stream, str) else stream
    whole, bytewise = read(raw), read(raw, cuts=range(1, len(raw)))
    assert _timeless(whole) == _timeless(bytewise)
    return whole


def _timeless(reply: Reply) -> tuple[object, ...]:
    return (
        reply.content, reply.reasoning, reply.tool_calls, reply.finish_reason, reply.usage, str(reply.error),
        reply.stamped, reply.served_as, reply.quirks, reply.raw,
    )  # fmt: skip


SAME_HELLO = {
    "baseline": HELLO + STOP,
    "Q15 usage after the finish": HELLO + chunk({}, reason="stop") + event({"choices": [], "usage": USAGE}) + DONE,
    "Q18 nulls everywhere": HELLO + chunk({"role": None, "content": None, "tool_calls": None}, usage=None) + STOP,
    "Q19 extra fields and empty deltas": HELLO
    + chunk({"content": "  "[:0]}, matched_stop=None, timings={"n": 1})
    + STOP,
    "Q20 comments": ": ping\n\n" + HELLO + ":\n\n: keepalive\n" + STOP,
    "Q21 empty events": "data:\n\n" + HELLO + "data: \n\n" + STOP,
    "Q22 wrapped comment and ping": "data: : OPENROUTER\n\n" + HELLO + 'data: ""\n\n' + STOP,
    "Q23 CR LF": (HELLO + STOP).replace("\n", "\r\n"),
    "Q23 CR": (HELLO + STOP).replace("\n", "\r"),
    "Q24 no space": (HELLO + STOP).replace("data: ", "data:"),
    "Q24 one event over several lines": (HELLO + STOP).replace('"choices":', '\ndata: "choices":'),
    "no blank line at the end": HELLO + STOP.rstrip("\n"),
    "Q11 another id in each chunk": HELLO.replace('"id": "c"', '"id": "d"', 1) + STOP,
    "message instead of delta": HELLO.replace('"delta"', '"message"') + STOP,
    "content as a list of parts": chunk({"content": [{"type": "text", "text": "hello"}]}) + STOP,
    "byte order mark": "\ufeff" + HELLO + STOP,
}


@pytest.mark.parametrize("name", SAME_HELLO)
def test_harmless_shapes(name: str) -> None:
    reply = _both_ways(SAME_HELLO[name])
    assert (reply.content, reply.finish_reason, reply.error, reply.tool_calls) == ("hello", "stop", None, ())


def test_usage_is_the_last_one_wherever_it_stands() -> None:
    early = chunk({"content": "x"}, usage={"prompt_tokens": 9, "completion_tokens": 1})
    reply = _both_ways(early + chunk({}, reason="stop") + event({"choices": [], "usage": USAGE}) + DONE)
    assert reply.usage == ReplyUsage(9, 2, 4)
    deepseek = event({"choices": [], "usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 3}})
    assert read(early + deepseek + STOP).usage == ReplyUsage(9, None, 3)


def test_reasoning_has_two_names_and_is_no_content() -> None:
    both = {"reasoning": "b", "reasoning_content": "b"}
    reply = _both_ways(chunk({"reasoning_content": "a"}) + chunk(both) + chunk({"content": "c"}) + STOP)
    assert (reply.reasoning, reply.content) == ("ab", "c")


def test_calls_with_the_wrong_reason_are_noted_and_kept() -> None:
    reply = _both_ways(chunk(call("{}", index=0, id="i", name="find")) + STOP)
    assert reply.tool_calls == (ToolCall("i", "find", "{}"),)
    assert (reply.error, reply.quirks) == (None, ("stop_with_calls",))


def test_characters_cut_between_reads_and_between_chunks() -> None:
    half = 'data: {"choices": [{"delta": {"content": "%s"}}]}\n\n'
    halves = half % "\\ud83d" + half % "\\ude00"
    reply = _both_ways(chunk({"content": "naïve 語"}) + halves + STOP)
    assert reply.content == "naïve 語😀"


def test_invalid_bytes_are_seen_and_not_lost() -> None:
    raw = chunk({"content": "good XX bad"}).encode().replace(b"XX", b"\xff\xfe") + STOP.encode()
    reply = _both_ways(raw)
    assert reply.content == "good \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} bad"
    assert "invalid_utf8" in reply.quirks
    json.dumps(reply.content).encode()


FAULTS = {
    "Q27 error object": (HELLO + event({"error": {"message": "boom", "code": 500}}) + DONE, "error_in_stream", "boom"),
    "Q27 flat error": (HELLO + event({"error": "boom"}) + DONE, "error_in_stream", "boom"),
    "Q28 error_message": (event({"error_type": "x", "error_message": "boom"}), "error_in_stream", "boom"),
    "Q29 error field": (HELLO + 'error: {"message": "boom"}\n\n', "error_in_stream", "boom"),
    "Q30 no data prefix": (HELLO + '{"error": {"message": "boom"}}\n', "error_in_stream", "boom"),
    "event named error": (HELLO + 'event: error\ndata: {"message": "boom"}\n\n', "error_in_stream", "boom"),
    "event named error, no JSON": (HELLO + "event: error\ndata: boom\n\n", "error_in_stream", "boom"),
    "smg's error without an end mark": (
        HELLO + event({"error": {"message": "Stream error: x"}}),
        "error_in_stream",
        "x",
    ),
    "Q31 cut before the finish": (HELLO, "cut", ""),
    "Q31 cut inside an event": (HELLO + chunk({"content": "x"})[:-9], "cut", ""),
    "nothing at all": ("", "cut", ""),
    "Q14 abort": (HELLO + chunk({}, reason="abort") + DONE, "aborted", "finish_reason 'abort'"),
    "broken JSON": (HELLO + "data: {oops}\n\n" + STOP, "not_json", "{oops}"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_errors_and_what_came_is_kept(name: str) -> None:
    stream, fault, detail = FAULTS[name]
    reply = _both_ways(stream)
    assert isinstance(reply.error, EngineProtocolError)
    assert reply.error.fault == fault
    assert detail in reply.error.detail
    assert reply.content == ("hello" if HELLO in stream else "")
    assert reply.raw == stream


def test_missing_end_mark_after_the_finish_is_only_noted() -> None:
    reply = _both_ways(HELLO + chunk({}, reason="stop"))
    assert (reply.error, reply.quirks) == (None, ("no_done",))


def test_end_mark_without_a_finish_is_only_noted() -> None:
    reply = _both_ways(HELLO + DONE)
    assert (reply.error, reply.finish_reason, reply.quirks) == (None, None, ("no_finish_reason",))


def test_connection_that_breaks_after_the_end_loses_nothing() -> None:
    builder = ReplyBuilder(status=200)
    builder.feed((HELLO + STOP).encode(), now_ns=1)
    builder.end(now_ns=2, broken_by=EngineProtocolError("cut", status=None))
    reply = builder.reply(end_ns=2)
    assert (reply.error, reply.quirks) == (None, ("broken_after_end",))


def test_timeout_in_the_middle_stays_a_timeout() -> None:
    builder = ReplyBuilder(status=200)
    builder.feed(HELLO.encode(), now_ns=1)
    builder.end(now_ns=2, broken_by=EngineTimeout("http://x", phase="read", limit_s=5))
    assert str(builder.reply(end_ns=2).error) == "http://x: nothing more came within 5 s"


def test_first_error_is_the_cause() -> None:
    reply = read(event({"error": "first"}) + event({"error": "second"}))
    assert str(reply.error) == "the server put an error into its answer of status 200: first"


def test_event_without_end_is_given_up() -> None:
    builder = ReplyBuilder(status=200)
    builder.feed(HELLO.encode(), now_ns=1)
    for _ in range(20):
        builder.feed(b"data: " + b"x" * 1_000_000, now_ns=1)
    builder.end(now_ns=2)
    reply = builder.reply(end_ns=2)
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.fault, reply.content) == ("oversized", "hello")
    assert len(reply.raw or "") < 18_000_000


def test_times_of_arrival_and_stamps() -> None:
    stamped = "".join(
        chunk(delta, reason=reason, kvrace={"t_ns": t_ns, "request_id": "s0001-t02~2"})
        for delta, reason, t_ns in (({"role": "assistant"}, None, 70), ({"content": "x"}, None, 80), ({}, "stop", 90))
    )
    reply = read(stamped + DONE, cuts=[10, stamped.index('"content"') - 40, len(stamped)])
    assert reply.stamped == Stamps(70, 90)
    assert reply.arrived == Stamps(2, 5)
    assert reply.served_as == "s0001-t02~2"
    assert read(HELLO + STOP).stamped == Stamps(None, None)


def test_other_choices_are_left_out_and_noted() -> None:
    other = event({"choices": [{"index": 1, "delta": {"content": "other"}}]})
    reply = _both_ways(HELLO + other + STOP)
    assert (reply.content, reply.quirks) == ("hello", ("several_choices",))


ODD = (
    "3",
    "[1]",
    '{"choices": {}}',
    '{"choices": [3, {"delta": 4}]}',
    '{"choices": [{"delta": {"content": 5}}]}',
    '{"kvrace": 3, "usage": [], "choices": null}',
    '{"kvrace": {"t_ns": "x"}}',
)


@pytest.mark.parametrize("payload", ODD)
def test_odd_payloads_are_survived(payload: str) -> None:
    reply = _both_ways(HELLO + f"data: {payload}\n\n" + STOP)
    assert (reply.content, reply.error) == ("hello", None)


def _body(raw: bytes) -> Reply:
    builder = ReplyBuilder(status=200)
    builder.body(raw, now_ns=7)
    return builder.reply(end_ns=8)


MESSAGE = {"role": "assistant", "content": "hi", "tool_calls": None, "reasoning_content": "r"}
ANSWER = {"choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}], "usage": USAGE}


def test_answer_that_is_not_streamed() -> None:
    reply = _body(json.dumps(ANSWER).encode())
    assert (reply.content, reply.reasoning, reply.usage) == ("hi", "r", ReplyUsage(9, 2, 4))
    assert (reply.arrived, reply.error, reply.quirks) == (Stamps(7, 8), None, ())
    wrapped = _body(json.dumps({"data": ANSWER, "success": True}).encode())
    assert (wrapped.content, wrapped.quirks) == ("hi", ("wrapped",))


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"<html>", "not_json"),
        (b"[]", "not_json"),
        (b'{"error": "x"}', "error_in_stream"),
    ],
)
def test_answers_that_are_none(raw: bytes, fault: str) -> None:
    error = _body(raw).error
    assert isinstance(error, EngineProtocolError)
    assert error.fault == fault


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b'{"error": {"message": "no room"}}', "the server answered 503: no room"),
        (b'{"object": "error", "message": "no room"}', "the server answered 503: no room"),
        (b'{"detail": [1]}', "the server answered 503: [1]"),
        (b"Bad gateway", "the server answered 503: Bad gateway"),
        (b"", "the server answered 503"),
    ],
)
def test_refusals(raw: bytes, sentence: str) -> None:
    builder = ReplyBuilder(status=503)
    builder.refused(raw)
    reply = builder.reply(end_ns=None)
    assert str(reply.error) == sentence
    assert (reply.status, reply.raw) == (503, raw.decode())
