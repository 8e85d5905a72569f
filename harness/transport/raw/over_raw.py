"""The measuring client: requests on its own connections, answers read when they are complete.

Owns: the request's head and body, and which reading an answer gets. Does not own: HTTP (`http_response.py`),
connections (`connection.py`, `pool.py`), the meaning of an answer (`harness/transport/reply.py`).
Floor 5. Source: facts/loadgen.md (aiohttp's reader costs more than everything else a client does for a chunk).

Bytes are stamped in the callback that brings them and read only when the answer is complete, a few at a time, so that
the reading of one answer does not delay the stamps of another.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import orjson

from harness.load.clock import yield_to_others
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.errors import (
    EngineError,
    EngineProtocolError,
    EngineTimeout,
    EngineUnreachable,
)
from harness.transport.hang_up import HungUp
from harness.transport.raw.connection import Exchange, Left, Lost, Oversized, Silence
from harness.transport.raw.leaving import EarlyLeave
from harness.transport.raw.pool import ConnectionPool, ConnectTimeout, Endpoint
from harness.transport.reply import ANSWER_BYTES_MAX, ReplyBuilder
from harness.transport.retry_after import retry_after_s

_PIECES_AT_A_TIME: Final = 32
_EVENT_STARTS: Final = (b"data:", b"event:", b":")


class RawTransport:
    """Make it inside a running loop, and close it there. now_ns: the clock that stamps arrivals."""

    def __init__(self, options: TransportOptions, *, now_ns: Callable[[], int]) -> None:
        self._options = options
        self._now_ns = now_ns
        self._url = f"{options.base_url.rstrip('/')}/chat/completions"
        parts = urlsplit(self._url)
        is_tls = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if is_tls else 80)
        self._head = _head(parts.path, parts.netloc.rpartition("@")[2], options)
        self._pool = ConnectionPool(
            Endpoint(host, port, ssl.create_default_context() if is_tls else None),
            now_ns=now_ns,
            connections_max=options.connections_max,
            connect_timeout_s=options.connect_timeout_s,
            silence_s=options.read_timeout_s,
            on_bytes=options.on_bytes,
        )

    def __repr__(self) -> str:
        return f"RawTransport({self._url})"

    async def close(self) -> None:
        await self._pool.close()

    async def chat(self, request: ChatRequest) -> Reply:
        body = orjson.dumps(request.fields())
        leave = None if request.hang_up is None else EarlyLeave(request.hang_up)
        try:
            exchange, was_resent = await self._pool.exchange(b"%s%d\r\n\r\n%s" % (self._head, len(body), body), leave)
        except ConnectTimeout:
            return self._failed(EngineTimeout(self._url, phase="connect", limit_s=self._options.connect_timeout_s))
        except OSError as problem:
            return self._failed(EngineUnreachable(self._url, reason=_reason(problem)))
        builder = ReplyBuilder(status=exchange.response.status, keep_raw=self._options.keep_raw)
        if was_resent:
            builder.note("resent")
        await self._read(exchange, builder)
        return builder.reply(end_ns=exchange.ended_ns)

    def _failed(self, error: EngineError) -> Reply:
        builder = ReplyBuilder(status=None, keep_raw=self._options.keep_raw)
        builder.fail(error)
        return builder.reply(end_ns=self._now_ns())

    async def _read(self, exchange: Exchange, builder: ReplyBuilder) -> None:
        response, broken_by = exchange.response, self._broken_by(exchange)
        status = response.status
        if isinstance(broken_by, HungUp):
            # First, because the stump of an answer has faults of its own.
            builder.fail(broken_by)
        if status is None:
            assert broken_by is not None, exchange
            builder.fail(broken_by)
        elif not 200 <= status < 300:
            builder.refused(_whole(exchange), retry_after_s=retry_after_s(response.headers.get("retry-after")))
        elif response.content_type == "text/event-stream" or _whole_start(exchange).startswith(_EVENT_STARTS):
            for number, (arrived_ns, piece) in enumerate(exchange.pieces, start=1):
                builder.feed(piece, now_ns=arrived_ns)
                if number % _PIECES_AT_A_TIME == 0:
                    await yield_to_others()
            if not isinstance(broken_by, HungUp):
                builder.end(now_ns=exchange.ended_ns, broken_by=broken_by)
        elif broken_by is not None and not exchange.pieces:
            builder.fail(broken_by)
        else:
            builder.body(_whole(exchange), now_ns=exchange.ended_ns)

    def _broken_by(self, exchange: Exchange) -> EngineError | None:
        fault, status = exchange.fault, exchange.response.status
        match fault:
            case None:
                return None
            case Left():
                return HungUp(fault.phase)
            case Silence():
                return EngineTimeout(self._url, phase="read", limit_s=self._options.read_timeout_s)
            case Oversized():
                detail = f"more than {ANSWER_BYTES_MAX} bytes"
                return EngineProtocolError("oversized", status=status, detail=detail)
            case Lost() if status is None:
                return EngineUnreachable(self._url, reason=str(fault))
            case _:
                return EngineProtocolError(
                    "cut" if status is not None else "not_http", status=status, detail=str(fault)
                )


def _head(path: str, host: str, options: TransportOptions) -> bytes:
    """Everything of a request but its length and body; refused names and values never get here (`TransportOptions`)."""
    headers = {"Host": host, "Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
    headers |= {"Accept-Encoding": "identity", "User-Agent": "kvrace", **options.headers}
    if options.api_key is not None:
        headers["Authorization"] = f"Bearer {options.api_key}"
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "Content-Length: "]
    return "\r\n".join(lines).encode("latin-1", "replace")


def _whole(exchange: Exchange) -> bytes:
    return b"".join(piece for _, piece in exchange.pieces)


def _whole_start(exchange: Exchange) -> bytes:
    """The first bytes that are not blank: some servers send events under another type."""
    return b"".join(piece for _, piece in exchange.pieces[:4])[:256].lstrip()


def _reason(problem: OSError) -> str:
    if isinstance(problem, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, ssl.SSLError):
        return f"no TLS connection comes about: {problem.reason or problem}"
    return problem.strerror or str(problem) or type(problem).__name__
