"""A server that sends exactly the bytes it is told to, one answer for each connection.

Owns: raw sockets. Does not own: what a client must make of the bytes. Floor: tests. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

HANG = b"HANG"
RESET = b"RESET"


@dataclass(slots=True)
class ByteServer:
    """pieces: written one by one; HANG waits for ever, RESET breaks the connection off."""

    pieces: Sequence[bytes]
    requests: list[bytes] = field(default_factory=list)
    url: str = ""
    handlers: list[asyncio.Task[None]] = field(default_factory=list)

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.handlers.append(asyncio.ensure_future(self.answer(reader, writer)))

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.write_pieces(reader, writer)
        finally:
            writer.close()

    async def write_pieces(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1]) for line in head.lower().splitlines() if line.startswith(b"content-length")
        )
        self.requests.append(head + await reader.readexactly(length))
        for piece in self.pieces:
            if piece == RESET:
                writer.transport.abort()
                return
            if piece == HANG:
                await asyncio.Event().wait()
            writer.write(piece)
            await writer.drain()


@asynccontextmanager
async def byte_server(*pieces: bytes) -> AsyncIterator[ByteServer]:
    script = ByteServer(pieces)
    server = await asyncio.start_server(script.connected, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        try:
            yield script
        finally:
            for handler in script.handlers:
                handler.cancel()
            if script.handlers:
                await asyncio.wait(script.handlers)


def head(status: str = "200 OK", *, kind: str = "text/event-stream", length: int | None = None) -> bytes:
    """length: None for a body in chunks."""
    size = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{size}\r\n\r\n".encode()


def chunked(*bodies: str | bytes, ends: bool = True) -> list[bytes]:
    """Each body as one HTTP chunk; without the last, empty one if the connection is to break off."""
    raw = [body.encode() if isinstance(body, str) else body for body in bodies]
    return [b"%x\r\n%s\r\n" % (len(body), body) for body in raw] + ([b"0\r\n\r\n"] if ends else [])
