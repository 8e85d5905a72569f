"""As many keep-alive connections to one server as there are requests in flight at once.

Owns: opening, reuse and closing; the one retry that HTTP allows. Does not own: an exchange (`connection.py`). Floor 5.
Source: RFC 9112 section 9.3.1: a server may close an idle connection just as a request is written to it, and a request
that got no byte of an answer on such a connection is sent once more on a new one.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from harness.load.clock import yield_to_others
from harness.transport.raw.connection import Connection, Exchange, Lost
from harness.transport.raw.leaving import EarlyLeave


class ConnectTimeout(Exception):
    """No connection came about in time."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect. context: None for plain HTTP."""

    host: str
    port: int
    context: ssl.SSLContext | None


class ConnectionPool:
    """connections_max: 0 for no limit. resent: how often the one retry was made."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        now_ns: Callable[[], int],
        connections_max: int,
        connect_timeout_s: float | None,
        silence_s: float | None,
        on_bytes: Callable[[bytes], None] | None = None,
    ) -> None:
        self.resent = 0
        self._endpoint = endpoint
        self._now_ns = now_ns
        self._connect_timeout_s = connect_timeout_s
        self._silence_s = silence_s
        self._on_bytes = on_bytes
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._room = asyncio.Semaphore(connections_max) if connections_max else None

    def __repr__(self) -> str:
        return (
            f"ConnectionPool({self._endpoint.host}:{self._endpoint.port}, {len(self._idle)} of {len(self._all)} idle)"
        )

    async def exchange(self, request: bytes, leave: EarlyLeave | None = None) -> tuple[Exchange, bool]:
        """The answer, and whether the request had to be sent twice. Raises: ConnectTimeout, OSError."""
        if self._room is None:
            return await self._exchange(request, leave)
        async with self._room:
            return await self._exchange(request, leave)

    async def _exchange(self, request: bytes, leave: EarlyLeave | None) -> tuple[Exchange, bool]:
        connection = await self._take()
        was_used = connection.was_used
        exchange = await self._on(connection, request, leave)
        if not (was_used and isinstance(exchange.fault, Lost) and not exchange.was_answered):
            return exchange, False
        self.resent += 1
        return await self._on(await self._open(), request, leave), True

    async def _on(self, connection: Connection, request: bytes, leave: EarlyLeave | None) -> Exchange:
        exchange = await connection.exchange(request, silence_s=self._silence_s, leave=leave)
        if connection.is_open:
            self._idle.append(connection)
        return exchange

    async def _take(self) -> Connection:
        while self._idle:
            # The one used last is the least likely to have been given up by the server.
            connection = self._idle.pop()
            if connection.is_open:
                return connection
        return await self._open()

    async def _open(self) -> Connection:
        endpoint = self._endpoint
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                _, connection = await loop.create_connection(
                    lambda: Connection(self._now_ns, self._gone, self._on_bytes),
                    endpoint.host,
                    endpoint.port,
                    ssl=endpoint.context,
                )
        except TimeoutError:
            raise ConnectTimeout from None
        self._all.add(connection)
        return connection

    def _gone(self, connection: Connection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    async def close(self) -> None:
        for connection in list(self._all):
            connection.abort()
        # The transports close in the loop's next turns; their sockets must not be left to the collector.
        while self._all:
            await yield_to_others()
