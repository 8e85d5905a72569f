"""A server that a test writes itself, byte by byte, and a client that sees every byte, with the capture between them.

Owns: both sockets and the running of a capture. Does not own: any expectation. Floor: tests. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.capture.recorder import CaptureLimits
from harness.capture.run import CaptureRequest, CaptureResult, CaptureRun
from harness.capture.scrubbing.scrubber import ScrubRules

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
NO_LIMITS = CaptureLimits(None, 10**9)


@dataclass(slots=True)
class Upstream:
    """answer: called with each request, head and body. gone: set when the other side has closed a connection."""

    answer: Answer
    requests: list[bytes] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await read_message(reader)
                self.requests.append(request)
                answering = asyncio.ensure_future(self.answer(request, writer))
                closing = asyncio.ensure_future(self._closed(reader))
                await asyncio.wait((answering, closing), return_when=asyncio.FIRST_COMPLETED)
                closing.cancel()
                await asyncio.wait([closing])
                if not answering.done():
                    answering.cancel()
                    return
                answering.result()
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _closed(self, reader: asyncio.StreamReader) -> None:
        while not reader.at_eof():
            try:
                if not await reader.read(1):
                    break
            except ConnectionError:
                break
        self.gone.set()


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """Head and body, whose length is told."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
    return head + (await reader.readexactly(int(length)) if length else b"")


@dataclass(slots=True)
class Capturing:
    """A running capture. result: once `end` was called."""

    run: CaptureRun
    task: asyncio.Task[CaptureResult]
    port: int

    async def ask(self, raw: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(raw)
        return reader, writer

    async def whole(self, raw: bytes) -> bytes:
        """Everything that comes back on one connection, which the request asks to close."""
        reader, writer = await self.ask(raw)
        try:
            return await reader.read()
        finally:
            writer.close()

    async def end(self) -> CaptureResult:
        self.run.stop()
        return await self.task


@asynccontextmanager
async def upstream(answer: Answer) -> AsyncIterator[Upstream]:
    script = Upstream(answer)
    server = await asyncio.start_server(script.connected, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield script
    finally:
        server.close()


@asynccontextmanager
async def capturing(url: str, out: Path, **changes: Any) -> AsyncIterator[Capturing]:
    request = CaptureRequest(upstream=url, out=out, rules=ScrubRules(), limits=NO_LIMITS)
    run = CaptureRun(replace(request, **changes))
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(run.run(ready.set_result))
    await asyncio.wait((task, ready), return_when=asyncio.FIRST_COMPLETED)
    if not ready.done():
        task.result()
    try:
        yield Capturing(run, task, int(ready.result().rsplit(":", 1)[1].removesuffix("/v1")))
    finally:
        run.stop()
        await asyncio.wait([task])


def post(path: str, body: bytes, **headers: str) -> bytes:
    """A request that asks for its connection to be closed. Underscores of names stand for dashes."""
    told = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"POST {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{told}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def unchunked(answer: bytes) -> bytes:
    """The body of an answer in chunks; an answer that was cut gives what came."""
    rest, body = answer.partition(b"\r\n\r\n")[2], b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body += rest[: int(size or b"0", 16)]
        rest = rest[int(size or b"0", 16) + 2 :]
    return body
