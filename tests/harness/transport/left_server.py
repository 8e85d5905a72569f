"""A server that answers up to a point and then waits, and writes down when its client has gone.

Owns: the log. Does not own: what it must say. Floor: tests. Source: ours.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from tests.harness.transport.byte_server import chunked, head
from tests.harness.transport.streams import DONE, chunk

Upto = int | Literal["nothing", "head", "end"]
"""How far an answer comes before the server waits: so many pieces of text, the head alone, nothing, or the end."""

PIECES = 6


@dataclass(slots=True)
class LeftServer:
    """upto: by request id. left: where in its answer the server was when it saw the client go.

    asked: how often each request came.
    """

    upto: Mapping[str, Upto]
    left: dict[str, Upto] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    url: str = ""
    seen: dict[str, asyncio.Event] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.add(asyncio.ensure_future(self._connection(reader, writer)))

    async def gone(self, name: str) -> Upto:
        """Where the client of this request left. Waits for the moment; a test's time-out is what ends it otherwise."""
        await self.seen.setdefault(name, asyncio.Event()).wait()
        return self.left[name]

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._request(reader, writer):
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        top = await reader.readuntil(b"\r\n\r\n")
        if top.startswith(b"GET "):
            models = b'{"data": [{"id": "left-model"}]}'
            writer.write(head(kind="application/json", length=len(models)) + models)
            return True
        length = int(top.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        name = json.loads(await reader.readexactly(length))["user"]
        self.asked[name] += 1
        upto = self.upto.get(name, "end")
        texts = [chunk({"content": f"piece {number} "}) for number in range(PIECES)]
        if upto == "end":
            writer.write(head() + b"".join(chunked(*texts, chunk({}, reason="stop") + DONE)))
            return True
        if upto != "nothing":
            writer.write(head() + b"".join(chunked(chunk({"role": "assistant", "content": ""}), ends=False)))
        for text in texts[: upto if isinstance(upto, int) else 0]:
            writer.write(b"".join(chunked(text, ends=False)))
            await writer.drain()
        try:
            rest = await reader.read(1)
        except ConnectionError:
            rest = b""
        assert not rest, "nobody sends a second request before the first is answered"
        self.left[name] = upto
        self.seen.setdefault(name, asyncio.Event()).set()
        return False


@asynccontextmanager
async def left_server(upto: Mapping[str, Upto]) -> AsyncIterator[LeftServer]:
    server = LeftServer(upto)
    listening = await asyncio.start_server(server.connected, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with listening:
        try:
            yield server
        finally:
            for task in server.tasks:
                task.cancel()
            if server.tasks:
                await asyncio.wait(server.tasks)
