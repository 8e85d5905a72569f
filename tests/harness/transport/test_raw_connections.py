"""The measuring client's connections: kept, limited, resent once, given up."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.load.clock import WallClock
from harness.transport.contract import ChatRequest, TransportOptions
from harness.transport.errors import EngineProtocolError, EngineTimeout, EngineUnreachable
from harness.transport.raw import RawTransport
from harness.transport.reply import ANSWER_BYTES_MAX
from tests.harness.transport.byte_server import byte_server, chunked, head
from tests.harness.transport.streams import DONE, chunk

pytestmark = pytest.mark.asyncio

STREAM = b"".join([head(), *chunked(chunk({"content": "hello"}) + chunk({}, reason="stop") + DONE)])
REQUEST = ChatRequest("r", "m", [{"role": "user", "content": "x"}])
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(answer: Answer, **options: Any) -> AsyncIterator[str]:
    """A server whose connections are answered by a coroutine; yields its base URL."""
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def serve() -> None:
            try:
                await answer(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                return
            finally:
                writer.close()

        tasks.add(asyncio.ensure_future(serve()))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0, **options)
    scheme = "https" if "ssl" in options else "http"
    async with listening:
        yield f"{scheme}://localhost:{listening.sockets[0].getsockname()[1]}/v1"
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


@asynccontextmanager
async def client(url: str, **options: Any) -> AsyncIterator[RawTransport]:
    clock = WallClock()
    transport = RawTransport(TransportOptions(url, **options), now_ns=lambda: clock.now_ns)
    try:
        yield transport
    finally:
        await transport.close()


async def read_request(reader: asyncio.StreamReader) -> None:
    top = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(top.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))


async def test_one_connection_serves_one_request_after_another() -> None:
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            await read_request(reader)
            writer.write(STREAM)

    async with server(answer) as url, client(url) as transport:
        assert [(await transport.chat(REQUEST)).content for _ in range(5)] == ["hello"] * 5
        assert connections == 1
        await asyncio.gather(*(transport.chat(REQUEST) for _ in range(3)))
        assert connections == 3


async def test_no_more_connections_than_allowed() -> None:
    open_now = open_max = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal open_now, open_max
        while True:
            await read_request(reader)
            open_now += 1
            open_max = max(open_max, open_now)
            await writer.drain()
            open_now -= 1
            writer.write(STREAM)

    async with server(answer) as url, client(url, connections_max=2) as transport:
        replies = await asyncio.gather(*(transport.chat(REQUEST) for _ in range(12)))
    assert [reply.error for reply in replies] == [None] * 12
    assert open_max <= 2


async def test_request_is_sent_again_once_on_a_connection_that_died_unused() -> None:
    requests = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        await read_request(reader)
        requests += 1
        writer.write(STREAM)
        await read_request(reader)
        requests += 1
        # The second request on this connection gets no byte: the server had given it up.
        writer.transport.abort()

    async with server(answer) as url, client(url) as transport:
        first, second = await transport.chat(REQUEST), await transport.chat(REQUEST)
    assert (first.error, first.quirks, second.error, second.content) == (None, (), None, "hello")
    assert second.quirks == ("resent",)
    assert requests == 3


async def test_a_fresh_connection_that_dies_is_not_tried_again() -> None:
    requests = 0

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        nonlocal requests
        await read_request(reader)
        requests += 1

    async with server(answer) as url, client(url) as transport:
        reply = await transport.chat(REQUEST)
    assert isinstance(reply.error, EngineUnreachable)
    assert requests == 1


async def test_a_server_that_speaks_something_else() -> None:
    async with byte_server(b"SSH-2.0-x\r\n") as fake, client(fake.url) as transport:
        reply = await transport.chat(REQUEST)
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.fault, reply.status) == ("not_http", None)


async def test_more_than_an_answer_can_be_is_given_up() -> None:
    flood = b": " + b"x" * 1_000_000 + b"\n\n"
    pieces = chunked(*[flood] * (ANSWER_BYTES_MAX // len(flood) + 2), ends=False)
    async with (
        byte_server(head(), *chunked(chunk({"content": "hi"}), ends=False), *pieces) as fake,
        client(fake.url, keep_raw=False) as transport,
    ):
        reply = await transport.chat(REQUEST)
    assert isinstance(reply.error, EngineProtocolError)
    assert (reply.error.fault, reply.content) == ("oversized", "hi")


async def test_host_that_never_answers_the_connection() -> None:
    async def never(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    async with client("http://127.0.0.1:9/v1", connect_timeout_s=0.01) as transport:
        loop = asyncio.get_running_loop()
        loop.create_connection = never  # type: ignore[assignment, method-assign]
        reply = await transport.chat(REQUEST)
    assert isinstance(reply.error, EngineTimeout)
    assert reply.error.phase == "connect"


async def test_cancelled_request_breaks_its_connection() -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await read_request(reader)
        arrived.set()
        # An aborted connection ends with a reset or an end of file, whichever the kernel makes of it.
        with suppress(ConnectionError):
            assert await reader.read(1) == b""
        gone.set()

    async with server(answer) as url, client(url) as transport:
        task = asyncio.ensure_future(transport.chat(REQUEST))
        await arrived.wait()
        task.cancel()
        await asyncio.wait([task])
        await gone.wait()


async def test_certificate_that_nobody_trusts(tmp_path: Path) -> None:
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl cannot make a certificate here")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(STREAM)

    async with server(answer, ssl=context) as url, client(url) as transport:
        reply = await transport.chat(REQUEST)
    assert isinstance(reply.error, EngineUnreachable)
    assert "certificate is not trusted" in str(reply.error)
