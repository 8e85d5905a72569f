"""The official client: exactly what an application does that uses the `openai` package.

Owns: the calls into that package and the translation of its objects and errors. Does not own: decoding of the
stream, which the package does; what it gives is put together by the same rules as elsewhere (`reply.py`).
Floor 5. Source: the package's own behaviour; facts/loadgen.md (ten to seventy times the cost of the fast client).

`raw` holds the chunks as this client saw them, written as JSON again: the bytes of the wire are out of reach.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson

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
from harness.transport.payload import error_message, payload
from harness.transport.reply import ReplyBuilder
from harness.transport.retry_after import retry_after_s

if TYPE_CHECKING:
    from openai import AsyncOpenAI


_WRITTEN: Final = "http11.send_request_body.complete"
"""What the package's transport says when a request has gone out."""


class OpenAITransport:
    """Make it inside a running loop, and close it there. now_ns: the clock that stamps arrivals."""

    def __init__(self, options: TransportOptions, *, now_ns: Callable[[], int]) -> None:
        self._options = options
        self._now_ns = now_ns
        self._leaving: dict[asyncio.Task[Any] | None, Leaving] = {}
        self._client = _client(options, self._leaving)
        self._errors = _error_map(options)

    def __repr__(self) -> str:
        return f"OpenAITransport({self._options.base_url})"

    async def close(self) -> None:
        await self._client.close()

    async def chat(self, request: ChatRequest) -> Reply:
        builder = ReplyBuilder(status=None, keep_raw=self._options.keep_raw)
        try:
            async with Leaving(request.hang_up) as leaving:
                with translated(self._errors), self._watched(leaving):
                    answer = await self._create(request)
                    # The package raises for any other status.
                    builder = ReplyBuilder(status=200, keep_raw=self._options.keep_raw)
                    if request.stream:
                        await self._stream(answer, builder, leaving)
                    else:
                        builder.body(answer.to_json(indent=None).encode(), now_ns=self._now_ns())
        except EngineError as problem:
            if isinstance(problem, EngineProtocolError) and problem.fault == "http_status":
                builder = ReplyBuilder(status=problem.status, keep_raw=self._options.keep_raw)
            builder.fail(problem)
        return builder.reply(end_ns=self._now_ns())

    @contextmanager
    def _watched(self, leaving: Leaving) -> Iterator[None]:
        task = asyncio.current_task()
        self._leaving[task] = leaving
        try:
            yield
        finally:
            del self._leaving[task]

    async def _create(self, request: ChatRequest) -> Any:
        whole = request.fields()
        fields: dict[str, Any] = {key: value for key, value in whole.items() if key not in request.extra}
        # What the package has no parameter for goes into the body as it is.
        extra = {key: value for key, value in whole.items() if key in request.extra}
        return await self._client.chat.completions.create(**fields, extra_body=extra)

    async def _stream(self, answer: Any, builder: ReplyBuilder, leaving: Leaving) -> None:
        broken_by: EngineError | None = None
        loop, limit_s = asyncio.get_running_loop(), self._options.read_timeout_s
        try:
            # The package's own limit is on bytes, and keep-alive is bytes that it does not show.
            with translated(self._errors):
                async with asyncio.timeout(limit_s) as silence:
                    async for chunk in answer:
                        if limit_s is not None:
                            silence.reschedule(loop.time() + limit_s)
                        event = orjson.dumps(chunk.to_dict(mode="json", exclude_unset=True))
                        if self._options.on_bytes is not None:
                            self._options.on_bytes(event)
                        builder.feed(b"data: " + event + b"\n\n", now_ns=self._now_ns())
                        leaving.text_came(builder.text_count)
                        if builder.is_oversized:
                            break
        except HungUp:
            raise
        except EngineError as problem:
            broken_by = problem
            if isinstance(problem, EngineProtocolError):
                builder.fail(problem)
        finally:
            # The package closes a stream that has ended, not one that is left.
            await answer.close()
        builder.end(now_ns=self._now_ns(), broken_by=broken_by, sees_done=False)


def _client(options: TransportOptions, leaving: Mapping[asyncio.Task[Any] | None, Leaving]) -> AsyncOpenAI:
    """leaving: of each task that sends a request; told when that has been written."""
    # Imported late: the package takes a second to load, and most runs never use it.
    import httpx2
    import openai

    async def trace(event: str, _: object) -> None:
        if event == _WRITTEN and (of_task := leaving.get(asyncio.current_task())) is not None:
            of_task.was_sent()

    async def traced(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "trace": trace}

    return openai.AsyncOpenAI(
        base_url=options.base_url,
        api_key=options.api_key or "none",
        default_headers=dict(options.headers),
        max_retries=0,
        timeout=httpx2.Timeout(options.read_timeout_s, connect=options.connect_timeout_s),
        http_client=openai.DefaultAsyncHttpxClient(
            trust_env=options.use_environment_proxies,
            event_hooks={"request": [traced]},
            limits=httpx2.Limits(max_connections=options.connections_max or None),
        ),
    )


def _error_map(options: TransportOptions) -> ErrorMap:
    import httpx2
    import openai

    url = options.base_url

    def refused(problem: BaseException) -> EngineError:
        assert isinstance(problem, openai.APIStatusError)
        wait_s = retry_after_s(problem.response.headers.get("Retry-After"))
        # The package's own message leaves out what is not where OpenAI puts it.
        raw = problem.response.content
        detail = error_message(payload(raw)[0], raw) or problem.message
        return EngineProtocolError("http_status", status=problem.status_code, detail=detail, retry_after_s=wait_s)

    def timeout(problem: BaseException) -> EngineError:
        if isinstance(problem.__cause__, httpx2.ConnectTimeout):
            return EngineTimeout(url, phase="connect", limit_s=options.connect_timeout_s)
        return EngineTimeout(url, phase="read", limit_s=options.read_timeout_s)

    def unreachable(problem: BaseException) -> EngineError:
        return EngineUnreachable(url, reason=str(problem.__cause__ or problem))

    def in_stream(problem: BaseException) -> EngineError:
        return EngineProtocolError("error_in_stream", status=200, detail=str(problem))

    return {
        openai.APIStatusError: refused,
        openai.APITimeoutError: timeout,
        openai.APIConnectionError: unreachable,
        openai.APIError: in_stream,
        httpx2.TimeoutException: timeout,
        TimeoutError: timeout,
        httpx2.RequestError: unreachable,
    }
