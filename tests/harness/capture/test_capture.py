"""The recording proxy between sockets that see every byte: what passes, what is kept, and what is never kept."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from harness.capture.record import EXCHANGES, read_capture
from harness.capture.recorder import BYTES_ENOUGH, ENDED, EXCHANGES_ENOUGH, CaptureLimits
from harness.capture.run import DURATION_SPENT, INTERRUPTED
from kernels.errors import ConfigError
from results.errors import NewerRun
from results.records import ToolCall
from tests.harness.capture.secrets import in_prose, planted
from tests.harness.capture.upstream import capturing, post, unchunked, upstream
from tests.harness.transport.byte_server import chunked, head
from tests.harness.transport.streams import DONE, call, chunk, event

CHAT = "/v1/chat/completions"
SAID = [chunk({"role": "assistant", "content": "Bon"}), chunk({"content": "jour"}), chunk({}, reason="stop") + DONE]


def asking(text: str = "hello", **fields: object) -> bytes:
    return json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": text}], "stream": True, **fields}
    ).encode()


async def saying(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(head() + b"".join(chunked(*SAID)))


@pytest.mark.asyncio
async def test_pieces_come_one_by_one_and_every_byte_is_the_servers(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunked(SAID[0], ends=False)[0])
        await go_on.wait()
        writer.write(b"".join(chunked(*SAID[1:])))

    async with upstream(answer) as server, capturing(f"{server.url}/v1", tmp_path) as capture:
        reader, writer = await capture.ask(post(CHAT, asking()))
        first = await reader.readuntil(SAID[0].encode())
        # The server has not written the second piece yet: nobody waits for it.
        assert b"jour" not in first
        go_on.set()
        rest = await reader.read()
        writer.close()
        result = await capture.end()
    assert unchunked(first + rest) == "".join(SAID).encode()
    (exchange,) = read_capture(result.path).exchanges
    assert (exchange.path, exchange.status, exchange.error) == (CHAT, 200, None)
    assert exchange.body == json.loads(asking())
    assert (exchange.reply.content, exchange.reply.finish_reason) == ("Bonjour", "stop")
    assert exchange.first_token_ns is not None
    assert exchange.ended_ns is not None
    assert exchange.arrived_ns < exchange.first_token_ns < exchange.ended_ns
    assert (result.header.ended_by, result.sessions) == (INTERRUPTED, 1)


@pytest.mark.asyncio
async def test_requests_reach_the_server_as_they_are(tmp_path: Path) -> None:
    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        body = b'{"odd":  [1,2]}'
        kind = "application/json\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Own: yes\r\nKeep-Alive: timeout=9"
        writer.write(head("418 Short And Stout", kind=kind, length=len(body)) + body)

    body = b'{"model":"m",  "messages" : [ ]}'
    async with upstream(answer) as server, capturing(server.url, tmp_path) as capture:
        got = await capture.whole(post("/v1/odd%2Fpath/?q=a%20b&q=c", body, X_Mine="1", TE="gzip", Cookie="c=d"))
        got_chat = await capture.whole(post(CHAT, body))
        result = await capture.end()
    line, _, rest = server.requests[0].partition(b"\r\n")
    assert line == b"POST /v1/odd%2Fpath/?q=a%20b&q=c HTTP/1.1"
    asked, _, sent = rest.partition(b"\r\n\r\n")
    assert sent == body
    lines = {one.lower() for one in asked.split(b"\r\n")}
    assert {b"x-mine: 1", b"cookie: c=d", f"host: {server.url[7:]}".encode()} <= lines
    assert not any(one.startswith((b"te:", b"connection: close", b"user-agent:")) for one in lines)
    assert got.startswith(b"HTTP/1.1 418 Short And Stout\r\n")
    assert got.endswith(b'\r\n\r\n{"odd":  [1,2]}')
    assert {b"Set-Cookie: a=1", b"Set-Cookie: b=2", b"X-Own: yes"} <= set(got.split(b"\r\n"))
    assert b"Keep-Alive" not in got
    assert unchunked(got_chat) == b'{"odd":  [1,2]}'
    capture_read = read_capture(result.path)
    assert capture_read.header.passed == {"/v1/odd/path/": 1}
    (exchange,) = capture_read.exchanges
    assert (exchange.status, exchange.error) == (418, 'the server answered 418: {"odd":  [1,2]}')


@pytest.mark.asyncio
async def test_other_shapes_of_replies_are_read(tmp_path: Path) -> None:
    call_block = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sea"}}
    text_block = {"type": "text", "text": "Well."}
    answers: dict[str, object] = {
        CHAT: {"choices": [{"message": {"tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": "{}"}}]},
                            "finish_reason": "tool_calls"}]},
        "/v1/completions": {"choices": [{"index": 0, "text": "and so on", "finish_reason": "length"}]},
        "/v1/messages": {"type": "message", "content": [text_block, call_block], "stop_reason": "tool_use"},
    }  # fmt: skip

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        path = request.split(b" ")[1].decode()
        if b'"stream": true' in request:
            pieces = [event({"choices": [{"index": 0, "text": word}]}) for word in ("and ", "so ", "on")]
            writer.write(head() + b"".join(chunked(*pieces, DONE)))
            return
        body = gzip.compress(json.dumps(answers[path]).encode())
        kind = "application/json\r\nContent-Encoding: gzip"
        writer.write(head(kind=kind, length=len(body)) + body)

    async with upstream(answer) as server, capturing(server.url, tmp_path) as capture:
        for path in answers:
            await capture.whole(post(path, b'{"model": "m", "messages": []}'))
        await capture.whole(post("/v1/completions", b'{"prompt": "once", "stream": true}'))
        await capture.whole(post(CHAT, b"[1, 2"))
        result = await capture.end()
    replies = [exchange.reply for exchange in read_capture(result.path).exchanges]
    assert [reply.tool_calls for reply in replies[::2]] == [
        (ToolCall("c1", "look", "{}"),), (ToolCall("t1", "look", '{"at":"sea"}'),),
    ]  # fmt: skip
    assert [reply.content for reply in replies] == ["", "and so on", "Well.", "and so on"]
    assert [reply.finish_reason for reply in replies] == ["tool_calls", "length", "tool_calls", None]
    assert result.header.passed == {CHAT: 1}, "what is no JSON object can be sent by nobody again"


@pytest.mark.asyncio
async def test_a_client_that_hangs_up_ends_the_request_at_the_server(tmp_path: Path) -> None:
    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunked(SAID[0], ends=False)[0])
        await asyncio.Event().wait()

    async with upstream(answer) as server, capturing(server.url, tmp_path) as capture:
        reader, writer = await capture.ask(post(CHAT, asking()))
        await reader.readuntil(SAID[0].encode())
        writer.transport.abort()
        await server.gone.wait()
        result = await capture.end()
    (exchange,) = read_capture(result.path).exchanges
    assert (exchange.reply.content, exchange.error) == ("Bon", "the client hung up")


@pytest.mark.asyncio
async def test_a_server_that_dies_is_passed_on_as_a_death(tmp_path: Path) -> None:
    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunked(SAID[0], ends=False)[0])
        await writer.drain()
        writer.transport.abort()

    async with upstream(answer) as server, capturing(server.url, tmp_path) as capture:
        reader, writer = await capture.ask(post(CHAT, asking()))
        await reader.readuntil(SAID[0].encode())
        # No last chunk: nobody can take it for an end.
        assert b"0\r\n\r\n" not in await reader.read()
        writer.close()
        result = await capture.end()
    (exchange,) = read_capture(result.path).exchanges
    assert exchange.reply.content == "Bon"
    assert exchange.error is not None
    assert exchange.error.startswith("the server broke off")


@pytest.mark.asyncio
async def test_a_server_that_is_not_there_is_a_bad_gateway(tmp_path: Path) -> None:
    async with upstream(saying) as server:
        url = server.url
    async with capturing(url, tmp_path) as capture:
        got = await capture.whole(post(CHAT, asking()))
        result = await capture.end()
    assert got.startswith(b"HTTP/1.1 502 Bad Gateway\r\n")
    assert "cannot be reached" in json.loads(got.partition(b"\r\n\r\n")[2])["error"]["message"]
    (exchange,) = read_capture(result.path).exchanges
    assert (exchange.status, exchange.reply.content) == (0, "")
    assert exchange.error is not None
    assert "cannot be reached" in exchange.error


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", range(4))
async def test_no_secret_is_in_any_artifact(seed: int, tmp_path: Path) -> None:
    secrets = planted(np.random.default_rng(seed))
    prose = in_prose(secrets)
    refusal = {"error": {"message": f"Incorrect API key provided: {secrets['header']}, cookie {secrets['cookie']}"}}

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        if b"refuse" in request:
            body = json.dumps(refusal).encode()
            writer.write(head("401 Unauthorized", kind="application/json", length=len(body)) + body)
            return
        said = chunk({"content": prose}) + chunk(call(json.dumps({"note": prose}), index=0, id="c", name="write"))
        cut = len(said) // 3
        writer.write(head() + b"".join(chunked(said[:cut], said[cut:], chunk({}, reason="stop") + DONE)))

    shown = {"Authorization": f"Bearer {secrets['header']}", "Cookie": f"a=1; sid={secrets['cookie']}"}
    async with upstream(answer) as server, capturing(server.url, tmp_path) as capture:
        # Said before anything gives it away: the line is on the disk already when it is recognised.
        early = asking(f"I type {secrets['password']} and nothing happens; {secrets['header']} neither")
        await capture.whole(post(CHAT, early))
        history = [{"role": "user", "content": prose}, {"role": "tool", "content": json.dumps({"out": prose})}]
        late = {"model": "m", "messages": history, "password": secrets["password"]}
        await capture.whole(post(CHAT, json.dumps(late).encode(), **shown))
        await capture.whole(post(CHAT, asking("refuse"), **shown))
        await capture.whole(post(f"/v1/files/{secrets['github']}", b"", **shown))
        result = await capture.end()
    stored = b"".join(path.read_bytes() for path in sorted(result.path.rglob("*")) if path.is_file())
    left = [name for name, secret in secrets.items() if json.dumps(secret)[1:-1].encode() in stored]
    assert left == [], stored
    lines = secrets["pem"].split("\n")[1:-1]
    assert not any(line.encode() in stored for line in lines)
    read = read_capture(result.path)
    assert (len(read.exchanges), read.faults) == (3, ())
    first, second, third = read.exchanges
    assert first.body["messages"][0]["content"].startswith("I type [password-")
    assert second.body["messages"][0]["content"] == second.reply.content, "equal texts stay equal"
    assert json.loads(second.reply.tool_calls[0].arguments) == {"note": second.reply.content}
    assert third.error is not None
    assert third.error.startswith("the server answered 401: Incorrect API key provided: [header-")
    assert sum(read.header.scrubbed.values()) >= len(secrets)


@pytest.mark.asyncio
async def test_it_ends_when_it_has_enough_and_open_replies_come_to_their_end(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def answer(request: bytes, writer: asyncio.StreamWriter) -> None:
        begun.set()
        if b"slow" in request:
            await go_on.wait()
        await saying(request, writer)

    limits = CaptureLimits(2, 10**9)
    async with upstream(answer) as server, capturing(server.url, tmp_path, limits=limits) as capture:
        reader, writer = await capture.ask(post(CHAT, asking("slow")))
        await begun.wait()
        await capture.whole(post(CHAT, asking("quick")))
        # A third one is passed on, and not recorded: two have begun.
        assert b"jour" in await capture.whole(post(CHAT, asking("late")))
        go_on.set()
        assert b"jour" in await reader.read()
        writer.close()
        result = await capture.task
    exchanges = read_capture(result.path).exchanges
    assert [exchange.body["messages"][0]["content"] for exchange in exchanges] == ["quick", "slow"]
    assert result.header.ended_by == EXCHANGES_ENOUGH


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("odd", "recorded"),
    [
        (b'"half a pair \\ud83d"', 3),
        (b'"x", "number": 1' + b"0" * 400, 3),
        # Deeper than anybody can look for secrets in it: passed on, and not kept.
        (b"[" * 900 + b"]" * 900, 2),
    ],
)
async def test_no_request_however_odd_ends_the_recording_of_the_others(
    odd: bytes, recorded: int, tmp_path: Path
) -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": ' + odd + b"}]}"
    async with upstream(saying) as server, capturing(server.url, tmp_path) as capture:
        for one in (asking("before"), body, asking("after")):
            assert b"jour" in await capture.whole(post(CHAT, one))
        capture.run.stop()
        result = await capture.task
    assert (result.header.exchanges, len(read_capture(result.path).exchanges)) == (recorded, recorded)
    assert result.header.passed == ({} if recorded == 3 else {CHAT: 1})


@pytest.mark.asyncio
async def test_it_ends_by_size_and_by_time(tmp_path: Path) -> None:
    async with upstream(saying) as server:
        async with capturing(server.url, tmp_path, limits=CaptureLimits(None, 10)) as capture:
            await capture.whole(post(CHAT, asking()))
            assert (await capture.task).header.ended_by == BYTES_ENOUGH
        async with capturing(server.url, tmp_path, duration_s=0.01) as capture:
            result = await capture.task
    assert (result.header.ended_by, result.header.exchanges) == (DURATION_SPENT, 0)


@pytest.mark.asyncio
async def test_ctrl_c_keeps_what_an_open_reply_has_said(tmp_path: Path) -> None:
    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + chunked(SAID[0], ends=False)[0])
        await asyncio.Event().wait()

    async with upstream(answer) as server, capturing(server.url, tmp_path) as capture:
        reader, writer = await capture.ask(post(CHAT, asking()))
        await reader.readuntil(SAID[0].encode())
        result = await capture.end()
        writer.close()
    (exchange,) = read_capture(result.path).exchanges
    assert (exchange.reply.content, exchange.error) == ("Bon", ENDED)


@pytest.mark.asyncio
async def test_what_a_crash_leaves_can_be_read(tmp_path: Path) -> None:
    stored = asyncio.Event()
    async with (
        upstream(saying) as server,
        capturing(server.url, tmp_path, on_stored=lambda _: stored.set()) as capture,
    ):
        await capture.whole(post(CHAT, asking()))
        await stored.wait()
        (folder,) = tmp_path.iterdir()
        # As the disk is at this moment, before anything has been closed, and once more cut inside the line.
        as_it_is = read_capture(folder)
        assert (len(as_it_is.exchanges), as_it_is.header.finished, as_it_is.faults) == (1, None, ())
        await capture.end()
    lines = (folder / EXCHANGES).read_bytes()
    (folder / EXCHANGES).write_bytes(lines + lines[:40])
    cut = read_capture(folder)
    assert (len(cut.exchanges), len(cut.faults)) == (1, 1)
    assert "torn last line" in str(cut.faults[0])


def test_what_is_no_capture(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such folder"):
        read_capture(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"it holds no capture\.json"):
        read_capture(tmp_path)
    (tmp_path / "capture.json").write_text('{"schema": "kvrace-capture/9"}')
    with pytest.raises(NewerRun):
        read_capture(tmp_path)
    (tmp_path / "capture.json").write_text('{"schema": "kvrace-capture/1"}')
    with pytest.raises(ConfigError, match="cannot be read"):
        read_capture(tmp_path)
