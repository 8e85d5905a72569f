"""The fast client: aiohttp for HTTP, our own decoding of the answer.

Owns: connections, request bodies, time-outs, and which decoding an answer gets. Does not own: the decoding.
Floor 5. Source: facts/loadgen.md (aiohttp's line reader costs more than everything else, so bytes are taken as they
come), facts/real-servers.md section 1 (answers whose length or type is not what it says).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import aiohttp
import orjson

from harness.transport.bulk import READ_BUFFER_BYTES, bulk_body
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.errors import (
    EngineError,
    EngineProtocolError,
    EngineTimeout,
    EngineUnreachable,
    ErrorMap,
    translated,
)
from harness.transport.hang_up import HungUp, Leaving
from harness.transport.keep_alive import SilenceLimit
from harness.transport.reply import ANSWER_BYTES_MAX, ReplyBuilder
from harness.transport.retry_after import retry_after_s


class AiohttpTransport:
    """Make it inside a running loop, and close it there. now_ns: the clock that stamps arrivals."""

    def __init__(self, options: TransportOptions, *, now_ns: Callable[[], int]) -> None:
        self._options = options
        self._now_ns = now_ns
        self._url = f"{options.base_url.rstrip('/')}/chat/completions"
        self._errors = _error_map(self._url, options)
        headers = {"Content-Type": "application/json", **options.headers}
        if options.api_key is not None:
            headers["Authorization"] = f"Bearer {options.api_key}"
        self._session = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=options.connections_max),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=options.connect_timeout_s, sock_read=options.read_timeout_s
            ),
            read_bufsize=READ_BUFFER_BYTES,
            trust_env=options.use_environment_proxies,
            trace_configs=[_telling_when_sent()],
        )

    def __repr__(self) -> str:
        return f"AiohttpTransport({self._url})"

    async def close(self) -> None:
        await self._session.close()

    async def chat(self, request: ChatRequest) -> Reply:
        body = orjson.dumps(request.fields())
        builder = ReplyBuilder(status=None, keep_raw=self._options.keep_raw)
        try:
            async with Leaving(request.hang_up) as leaving:
                with translated(self._errors):
                    asked = self._session.post(self._url, data=bulk_body(body), trace_request_ctx=leaving)
                    async with asked as response:
                        builder = ReplyBuilder(status=response.status, keep_raw=self._options.keep_raw)
                        await self._read(response, builder, leaving)
        except EngineError as problem:
            builder.fail(problem)
        return builder.reply(end_ns=self._now_ns())

    async def _read(self, response: aiohttp.ClientResponse, builder: ReplyBuilder, leaving: Leaving) -> None:
        if not 200 <= response.status < 300:
            builder.refused(
                await self._whole(response), retry_after_s=retry_after_s(response.headers.get("Retry-After"))
            )
        elif response.content_type == "text/event-stream":
            await self._stream(response, builder, leaving)
        else:
            raw = await self._whole(response)
            if raw.lstrip().startswith((b"data:", b"event:", b":")):
                builder.feed(raw, now_ns=self._now_ns())
                builder.end(now_ns=self._now_ns())
            else:
                builder.body(raw, now_ns=self._now_ns())

    async def _stream(self, response: aiohttp.ClientResponse, builder: ReplyBuilder, leaving: Leaving) -> None:
        broken_by: EngineError | None = None
        silence = self._silence_limit()
        try:
            with translated(self._errors):
                async for chunk in response.content.iter_any():
                    if self._options.on_bytes is not None:
                        self._options.on_bytes(chunk)
                    builder.feed(chunk, now_ns=self._now_ns())
                    leaving.text_came(builder.text_count)
                    if builder.is_oversized:
                        break
                    silence.came(chunk)
        except HungUp:
            raise
        except EngineError as problem:
            broken_by = problem
        builder.end(now_ns=self._now_ns(), broken_by=broken_by)

    async def _whole(self, response: aiohttp.ClientResponse) -> bytes:
        """All that comes, or a little more than an answer can be: a body shorter than announced still says what the
        server had to say."""
        pieces: list[bytes] = []
        size_bytes = 0
        silence = self._silence_limit()
        try:
            async for chunk in response.content.iter_any():
                pieces.append(chunk)
                size_bytes += len(chunk)
                if size_bytes > ANSWER_BYTES_MAX:
                    break
                silence.came(chunk)
        except aiohttp.ClientPayloadError:
            if not pieces:
                raise
        return b"".join(pieces)

    def _silence_limit(self) -> SilenceLimit:
        return SilenceLimit(self._options.read_timeout_s, asyncio.get_running_loop().time)


def _telling_when_sent() -> aiohttp.TraceConfig:
    """Time for hanging up counts from here: connecting is no phase of an answer."""

    async def on_sent(_: object, trace: SimpleNamespace, __: object) -> None:
        trace.trace_request_ctx.was_sent()

    config = aiohttp.TraceConfig()
    config.on_request_chunk_sent.append(on_sent)
    return config


def _error_map(url: str, options: TransportOptions) -> ErrorMap:
    """Ordered from special to general: aiohttp's time-outs are connection errors as well."""
    return {
        aiohttp.ConnectionTimeoutError: lambda _: EngineTimeout(
            url, phase="connect", limit_s=options.connect_timeout_s
        ),
        TimeoutError: lambda _: EngineTimeout(url, phase="read", limit_s=options.read_timeout_s),
        aiohttp.ClientPayloadError: lambda problem: EngineProtocolError("cut", status=None, detail=str(problem)),
        aiohttp.ClientConnectionError: lambda problem: EngineUnreachable(url, reason=str(problem)),
        aiohttp.ClientError: lambda problem: EngineUnreachable(url, reason=f"{type(problem).__name__}: {problem}"),
    }
