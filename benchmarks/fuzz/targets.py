"""The properties: any bytes in, and an assertion fails where the product breaks one.

Owns: what must hold of each reader: it raises nothing but what it promises, gives the same however the bytes are cut,
holds no more than it may, and agrees with a reference where there is one. Does not own: which inputs are tried
(`__main__.py` by coverage, tests/harness/fuzz by Hypothesis). Source: ours.
"""

from __future__ import annotations

import dataclasses
import gzip
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from benchmarks.fuzz.cutting import CUTS_MAX, cut_input, ways
from benchmarks.fuzz.odd_json import odd_text
from benchmarks.fuzz.reference import events_of
from benchmarks.fuzz.streams import Source, anthropic_stream, openai_stream
from harness.transport.calls import CallMerger
from harness.transport.contract import Reply, Stamps
from harness.transport.payload import payload
from harness.transport.raw.http_response import MalformedResponse, ResponseParser
from harness.transport.reply import ReplyBuilder
from harness.transport.sse import SseDecoder
from results.findings import Judgement
from results.lines import encode_line
from results.oracles.context import judge_context
from results.oracles.judge import judge_turn
from results.records import ExpectedCall, TurnRecord

_SMALL_EVENT = 48
_GROWTH_MAX = 32 * 1024 * 1024


def sse(data: bytes) -> None:
    """Every way of cutting gives the events of the reference, and a small limit holds."""
    _, payload_bytes = cut_input(data)
    expected = events_of(payload_bytes)
    limited = set()
    for pieces in ways(data):
        decoder = SseDecoder()
        found = [event for piece in pieces for event in decoder.feed(piece)] + decoder.close()
        assert [(event.data, event.kind, event.is_complete) for event in found] == expected, (pieces, found, expected)
        small = SseDecoder(event_bytes_max=_SMALL_EVENT)
        given = [event for piece in pieces for event in small.feed(piece)] + small.close()
        assert all(len(event.data) <= _SMALL_EVENT for event in given), given
        limited.add((small.is_oversized, tuple((event.data, event.kind) for event in given)))
    assert len(limited) == 1, limited


def reply(data: bytes) -> None:
    """Any bytes as an event stream: survived, kept, and read alike however they are cut."""
    _, raw = cut_input(data)
    found = [_timeless(_read(pieces)) for pieces in ways(data)]
    assert all(one == found[0] for one in found), found
    assert found[0]["raw"] == raw.decode(errors="replace")


def valid(data: bytes) -> None:
    """Any bytes as the plan of a valid stream: what it says is what is read, however it is cut."""
    if len(data) < 2:
        return
    make = anthropic_stream if data[0] & 1 else openai_stream
    cuts, plan = data[1 : 1 + CUTS_MAX], data[1 + CUTS_MAX :]
    text, said = make(Source(plan))
    for pieces in ways(bytes((len(cuts), *cuts)) + text.encode()):
        found = _read(pieces)
        assert found.error is None, (text, found.error)
        assert (found.content, found.reasoning) == (said.content, said.reasoning), (text, found)
        assert [[call.id, call.name, call.arguments] for call in found.tool_calls] == said.calls, (text, found)


def body(data: bytes) -> None:
    """Any bytes as an answer that is not streamed, and as the words of a refusal."""
    for status, read in ((200, _body), (500, _refusal)):
        found = read(data, status)
        _stored(found)


def turn(data: bytes) -> None:
    """The whole way: bytes, reply, judgement, and both stored and read back."""
    pieces, _ = cut_input(data)
    _stored(_read(pieces))


def odd(data: bytes) -> None:
    """JSON with the right keys and any values, as events and as a body: survived, and stored."""
    source = Source(data)
    texts = [odd_text(source) for _ in range(1 + source.below(3))]
    named = (f"event: error\ndata: {text}\n\n" if source.below(4) == 0 else f"data: {text}\n\n" for text in texts)
    _stored(_read([event.encode("utf-8", "surrogatepass") for event in named]))
    body("".join(texts[:1]).encode("utf-8", "surrogatepass"))
    calls("\n".join(texts).encode("utf-8", "surrogatepass"))


def http(data: bytes) -> None:
    """Any bytes as an HTTP response: the same status and body however they are cut, or malformed each time."""
    found = {_http(pieces) for pieces in ways(data)}
    assert len(found) == 1, found


def http_valid(data: bytes) -> None:
    """Any bytes as the body of a valid response, in each of the ways in which a body may be sent."""
    if len(data) < 2:
        return
    way, payload_bytes = data[0] % 5, data[1:]
    raw = _response(way, payload_bytes, step=1 + data[1] % 40)
    cuts = payload_bytes[:4]
    for pieces in ways(bytes((len(cuts), *cuts)) + raw):
        parser = ResponseParser()
        got = b"".join(parser.feed(piece) for piece in pieces)
        assert parser.close(), (way, raw)
        assert (parser.status, got, parser.has_excess) == (200, payload_bytes, False), (way, raw, got)


def _response(way: int, content: bytes, step: int) -> bytes:
    """By length, in chunks (plain, with extensions and trailers, compressed), or until the connection closes."""
    top = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    if way == 0:
        return top + b"Content-Length: %d\r\n\r\n" % len(content) + content
    if way == 3:
        return b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + top + b"\r\n" + content
    sent = gzip.compress(content, 1) if way == 4 else content
    extension, trailer = (b";x=1", b"X: y\r\n") if way == 2 else (b"", b"")
    lines = [sent[at : at + step] for at in range(0, len(sent), step)]
    chunks = b"".join(b"%X%s\r\n%s\r\n" % (len(line), extension, line) for line in lines)
    encoding = b"Content-Encoding: gzip\r\n" if way == 4 else b""
    return top + encoding + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n" + trailer + b"\r\n"


def calls(data: bytes) -> None:
    """Any JSON as the deltas of tool calls: merged into text that can be stored."""
    merger, whole = CallMerger(), CallMerger()
    for line in data.split(b"\n"):
        entries, _ = payload(line)
        merger.add(entries)
        whole.add_whole(entries)
    for call in (*merger.calls(), *whole.calls()):
        encode_line(call)
        (call.id + call.name + call.arguments).encode()


def _read(pieces: list[bytes]) -> Reply:
    builder = ReplyBuilder(status=200)
    for number, piece in enumerate(pieces):
        builder.feed(piece, now_ns=number)
    builder.end(now_ns=len(pieces))
    return builder.reply(end_ns=len(pieces))


def _body(raw: bytes, status: int) -> Reply:
    builder = ReplyBuilder(status=status)
    builder.body(raw, now_ns=1)
    return builder.reply(end_ns=1)


def _refusal(raw: bytes, status: int) -> Reply:
    builder = ReplyBuilder(status=status)
    builder.refused(raw)
    return builder.reply(end_ns=1)


def _timeless(found: Reply) -> dict[str, Any]:
    fields = dataclasses.asdict(dataclasses.replace(found, arrived=Stamps(None, None), error=None, text_ns=()))
    return {**fields, "error": str(found.error)}


def _http(pieces: list[bytes]) -> tuple[object, ...]:
    parser = ResponseParser()
    got = []
    try:
        for piece in pieces:
            if parser.is_complete:
                break
            got.append(parser.feed(piece))
            # What one read may bring: a body that grows without end is the caller's to stop, one read's is ours.
            assert len(got[-1]) <= _GROWTH_MAX, len(got[-1])
    except MalformedResponse:
        return ("malformed", parser.status)
    return (parser.close(), parser.status, b"".join(got), tuple(parser.headers.items()))


_EXPECTED = ExpectedCall("book_table", {"guests": 4, "note": "velarimot"})
_CONTEXT = judge_context(tools=(), sessions=())


def _stored(found: Reply) -> None:
    usage = found.usage
    record = TurnRecord(
        session=0, turn=0, request_id="r", group=0, scheduled_ns=0, sent_ns=0,
        first_token_ns=found.arrived.first_token_ns, finished_ns=None if found.error else found.arrived.end_ns,
        prompt_tokens=usage.prompt_tokens if usage else None,
        completion_tokens=usage.completion_tokens if usage else None,
        cached_tokens=usage.cached_tokens if usage else None, finish_reason=found.finish_reason,
        content=found.content, tool_calls=found.tool_calls, expected=_EXPECTED, secrets=(),
        error=None if found.error is None else str(found.error), raw=found.raw, machine=None, reasoning=found.reasoning,
    )  # fmt: skip
    judgement = judge_turn(record, _CONTEXT)
    assert msgspec.json.decode(encode_line(record), type=TurnRecord).key == record.key
    assert msgspec.json.decode(encode_line(judgement), type=Judgement).verdict is judgement.verdict


TARGETS: Mapping[str, Callable[[bytes], None]] = MappingProxyType(
    {
        "sse": sse,
        "reply": reply,
        "valid": valid,
        "body": body,
        "turn": turn,
        "http": http,
        "http_valid": http_valid,
        "calls": calls,
        "odd": odd,
    }
)
