"""All clients against bytes on real sockets: the same reply, or the same kind of error."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from harness.pair.listening import listening_socket
from harness.simulation.run import MakeTransport
from harness.transport.contract import ChatRequest, Reply, Stamps, Transport, TransportOptions
from harness.transport.errors import EngineProtocolError, EngineTimeout, EngineUnreachable
from harness.transport.over_aiohttp import AiohttpTransport
from harness.transport.over_openai import OpenAITransport
from harness.transport.raw import RawTransport
from results.records import ToolCall
from tests.harness.rig import served
from tests.harness.small_plans import TOOLS
from tests.harness.transport.byte_server import HANG, RESET, byte_server, chunked, head
from tests.harness.transport.streams import DONE, call, chunk, event

pytestmark = pytest.mark.asyncio

MAKERS: dict[str, MakeTransport] = {"raw": RawTransport, "aiohttp": AiohttpTransport, "openai": OpenAITransport}
KINDS = tuple(MAKERS)
OURS = ("raw", "aiohttp")
HELLO = chunk({"role": "assistant", "content": ""}) + chunk({"content": "hel"}) + chunk({"content": "lo"})
STOP = chunk({}, reason="stop") + DONE
USAGE = event({"id": "c", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}})
REQUEST = ChatRequest("s0001-t02", "m", [{"role": "user", "content": "語"}], max_tokens=5)


@asynccontextmanager
async def client(kind: str, url: str, **options: Any) -> AsyncIterator[Transport]:
    ticks = count(100)
    transport: Transport = MAKERS[kind](TransportOptions(url, **options), now_ns=lambda: next(ticks))
    try:
        yield transport
    finally:
        await transport.close()


async def ask(kind: str, *pieces: bytes, request: ChatRequest = REQUEST, **options: Any) -> Reply:
    async with byte_server(*pieces) as server, client(kind, server.url, **options) as transport:
        return await transport.chat(request)


@pytest.mark.parametrize("kind", KINDS)
async def test_stream_in_pieces(kind: str) -> None:
    raw = (HELLO + chunk({}, reason="stop") + USAGE + DONE).encode()
    pieces = [raw[at : at + 11] for at in range(0, len(raw), 11)]
    reply = await ask(kind, head(), *chunked(*pieces))
    assert (reply.status, reply.content, reply.finish_reason) == (200, "hello", "stop")
    assert (reply.error, reply.quirks) == (None, ())
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == 9
    assert reply.arrived.first_token_ns is not None
    assert reply.arrived.end_ns is not None
    assert 100 <= reply.arrived.first_token_ns < reply.arrived.end_ns
    assert reply.raw is not None
    assert "hel" in reply.raw


@pytest.mark.parametrize("kind", KINDS)
async def test_request_as_it_arrives(kind: str) -> None:
    tool = {"type": "function", "function": {"name": "find", "parameters": {}}}
    request = ChatRequest("s0001-t02", "m", [{"role": "user", "content": "語"}], [tool], 5, extra={"x_own": [1]})
    async with (
        byte_server(head(), *chunked(HELLO + STOP)) as server,
        client(kind, server.url, api_key="secret", headers={"X-Team": "kv"}) as transport,
    ):
        await transport.chat(request)
        assert "secret" not in repr(transport) + repr(TransportOptions("u", api_key="secret"))
    top, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert top.startswith(b"POST /v1/chat/completions HTTP/1.1")
    assert b"authorization: bearer secret" in top.lower()
    assert b"x-team: kv" in top.lower()
    assert json.loads(body) == {
        "model": "m",
        "messages": [{"role": "user", "content": "語"}],
        "tools": [tool],
        "max_tokens": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "user": "s0001-t02",
        "safety_identifier": "s0001-t02",
        "x_own": [1],
    }


@pytest.mark.parametrize("kind", KINDS)
async def test_answer_that_is_not_streamed(kind: str) -> None:
    message = {"role": "assistant", **call("{}", id="i", name="find", type="function")}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = json.dumps(
        {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    ).encode()
    request = ChatRequest("r", "m", [{"role": "user", "content": "x"}], stream=False)
    reply = await ask(kind, head(kind="application/json", length=len(body)), body, request=request)
    assert (reply.error, reply.tool_calls) == (None, (ToolCall("i", "find", "{}"),))


REFUSAL = b'{"error": {"message": "no room"}}'


@pytest.mark.parametrize("kind", KINDS)
async def test_status_that_is_an_error(kind: str) -> None:
    reply = await ask(kind, head("503 Busy", kind="application/json", length=len(REFUSAL)), REFUSAL)
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.fault, reply.status, reply.error.status) == ("http_status", 503, 503)
    assert "no room" in str(reply.error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("nan", None)])
async def test_server_that_asks_to_stay_away(kind: str, header: str, seconds: float | None) -> None:
    busy = head("429 Slow\r\nRetry-After: " + header, kind="application/json", length=len(REFUSAL))
    reply = await ask(kind, busy, REFUSAL)
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.status, reply.error.retry_after_s) == (429, seconds)


@pytest.mark.parametrize("kind", OURS)
async def test_refusal_shorter_than_announced_still_speaks(kind: str) -> None:
    reply = await ask(kind, head("400 Bad", length=99), REFUSAL)
    assert str(reply.error) == "the server answered 400: no room"


@pytest.mark.parametrize("kind", KINDS)
async def test_error_inside_the_stream(kind: str) -> None:
    reply = await ask(kind, head(), *chunked(HELLO + event({"error": {"message": "boom"}}) + DONE))
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.fault, reply.content, reply.status) == ("error_in_stream", "hello", 200)
    assert "boom" in str(reply.error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("end", [[], [RESET]], ids=["closed", "reset"])
async def test_stream_that_breaks_off_keeps_its_text(kind: str, end: list[bytes]) -> None:
    reply = await ask(kind, head(), *chunked(HELLO, ends=False), *end)
    assert isinstance(reply.error, EngineProtocolError | EngineUnreachable)
    assert isinstance(reply.error, EngineProtocolError) == (reply.content == "hello")
    if not end:
        assert reply.content == "hello"
        assert "cut off" in str(reply.error)


@pytest.mark.parametrize("kind", KINDS)
async def test_stream_that_ends_too_early_in_an_orderly_way(kind: str) -> None:
    reply = await ask(kind, head(), *chunked(HELLO))
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.fault, reply.content) == ("cut", "hello")


@pytest.mark.parametrize("kind", OURS)
async def test_connection_that_breaks_after_the_end_mark_is_no_error(kind: str) -> None:
    reply = await ask(kind, head(), *chunked(HELLO + STOP, ends=False))
    assert (reply.error, reply.content, reply.quirks) == (None, "hello", ("broken_after_end",))


@pytest.mark.parametrize("kind", KINDS)
async def test_no_answer_at_all(kind: str) -> None:
    reply = await ask(kind, RESET)
    assert isinstance(reply.error, EngineUnreachable)
    assert (reply.status, reply.content, reply.arrived.first_token_ns) == (None, "", None)


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_listens(kind: str) -> None:
    with listening_socket("127.0.0.1", 0, what="test") as bound:
        port = bound.getsockname()[1]
    async with client(kind, f"http://127.0.0.1:{port}/v1") as transport:
        reply = await transport.chat(REQUEST)
    assert isinstance(reply.error, EngineUnreachable)
    assert str(port) in str(reply.error)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("before", [[], [head(), *chunked(HELLO, ends=False)]], ids=["no headers", "no more chunks"])
async def test_silence_is_a_timeout(kind: str, before: list[bytes]) -> None:
    reply = await ask(kind, *before, HANG, read_timeout_s=0.05)
    assert isinstance(reply.error, EngineTimeout)
    assert (reply.error.phase, reply.error.limit_s) == ("read", 0.05)
    assert reply.content == ("hello" if before else "")


@pytest.mark.parametrize(
    ("content_type", "body", "content", "fault"),
    [
        ("application/json", REFUSAL.decode(), "", "error_in_stream"),
        ("application/json", HELLO + STOP, "hello", None),
        ("text/plain", ": ping\n\n" + HELLO + STOP, "hello", None),
        ("text/html", "<html>", "", "not_json"),
        ("application/json", "", "", "empty"),
    ],
)
@pytest.mark.parametrize("kind", OURS)
async def test_answer_of_another_type_than_asked_for(
    kind: str, content_type: str, body: str, content: str, fault: str | None
) -> None:
    reply = await ask(kind, head(kind=content_type, length=len(body)), body.encode())
    assert reply.content == content
    assert (reply.error.fault if isinstance(reply.error, EngineProtocolError) else None) == fault


@pytest.mark.parametrize("kind", OURS)
async def test_large_request_is_sent_without_a_warning(kind: str) -> None:
    request = ChatRequest("r", "m", [{"role": "user", "content": "y" * 3_000_000}])
    async with byte_server(head(), *chunked(HELLO + STOP)) as server, client(kind, server.url) as transport:
        assert (await transport.chat(request)).error is None
    assert len(server.requests[0]) > 3_000_000


@pytest.mark.parametrize("kind", OURS)
async def test_raw_is_left_out_where_nobody_wants_it(kind: str) -> None:
    assert (await ask(kind, head(), *chunked(HELLO + STOP), keep_raw=False)).raw is None


@pytest.mark.parametrize("stream", [True, False])
async def test_all_clients_read_the_same_from_our_pair(stream: bool) -> None:
    message = {"role": "user", "content": '[[k]] mail_send {"to": "語"}\n((k))'}
    request = ChatRequest("r", "m", [message], TOOLS, stream=stream)
    replies: list[Reply] = []
    for kind in KINDS:
        async with served() as (pair, _), client(kind, pair.base_url) as transport:
            replies.append(await transport.chat(request))
    raw, fast, official = replies
    assert (raw.error, fast.error) == (None, None)
    # Each pair has rooms and a machine's time of its own; everything else is the same.
    own = {name: getattr(fast, name) for name in ("raw", "stamped", "served_as", "arrived", "text_ns")}
    assert dataclasses.replace(raw, **own) == fast
    assert [call.name for call in fast.tool_calls] == ["mail_send"]
    assert [(call.name, call.arguments) for call in fast.tool_calls] == [
        (call.name, call.arguments) for call in official.tool_calls
    ]
    assert (fast.usage, fast.finish_reason, fast.content) == (official.usage, official.finish_reason, official.content)
    assert official.stamped != Stamps(None, None), "the package keeps fields that it does not know"
