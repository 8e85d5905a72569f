"""A stub behaviour as an OpenAI-compatible server on loopback.

Owns: the endpoints (`/v1/models`, `/v1/chat/completions` streamed or not, `/flush_cache`), the time that a request
stays in work, and a server that takes one request at a time. Does not own: what is answered (`behaviour`).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from benchmarks.stubs.behaviour import StubEngine, StubReply, StubToken
from benchmarks.stubs.clock import busy_for

MODEL = "stub"
SERVICE_S = 0.003
"""Between the first token and the rest; enough for requests that come together to meet."""
SERVICE_WHOLE_S = 0.04
"""For a reply that is not streamed. Such clients send more slowly, and are to meet each other as well."""


class StubServer:
    """One engine behind HTTP. one_at_a_time: a request waits until the one before it is done. tells_logprobs: where
    they are asked for."""

    def __init__(self, engine: StubEngine, *, one_at_a_time: bool = False, tells_logprobs: bool = True) -> None:
        self._engine = engine
        self._tells_logprobs = tells_logprobs
        self._turnstile = asyncio.Semaphore(1 if one_at_a_time else 1_000)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/flush_cache", self._flush)
        return app

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _flush(self, request: web.Request) -> web.Response:
        self._engine.flush()
        return web.Response()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        body["logprobs"] = self._tells_logprobs and body.get("logprobs", False)
        prompt = "\n".join(_text(message.get("content")) for message in body["messages"])
        async with self._turnstile:
            self._engine.resident += 1
            try:
                if body.get("stream"):
                    return await self._stream(request, body, prompt)
                # The batch that a request meets is the one that is there when it is computed, not when it came.
                await busy_for(SERVICE_WHOLE_S)
                return web.json_response(_whole(self._engine.answer(prompt), body))
            finally:
                self._engine.resident -= 1

    async def _stream(self, request: web.Request, body: dict[str, Any], prompt: str) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await busy_for(SERVICE_S)
        reply = self._engine.answer(prompt)
        await response.write(_event(_delta({"role": "assistant", "content": ""})))
        await response.write(_event(_token_delta(reply.tokens[:1], body)))
        await busy_for(SERVICE_S)
        await response.write(_event(_token_delta(reply.tokens[1:], body)))
        message, reason = _message(reply, body)
        if "tool_calls" in message:
            await response.write(_event(_delta({"tool_calls": message["tool_calls"]})))
        elif message["content"] != reply.content:
            await response.write(_event(_delta({"content": message["content"][len(reply.content) :]})))
        await response.write(_event(_delta({}, reason) | {"usage": _usage(reply)}))
        await response.write(b"data: [DONE]\n\n")
        return response


@asynccontextmanager
async def serving(
    engine: StubEngine, *, one_at_a_time: bool = False, tells_logprobs: bool = True
) -> AsyncIterator[str]:
    """The server on a free port of loopback; gives its base URL (without `/v1`)."""
    server = StubServer(engine, one_at_a_time=one_at_a_time, tells_logprobs=tells_logprobs)
    runner = web.AppRunner(server.app(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024)
        await site.start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def _text(content: object) -> str:
    return content if isinstance(content, str) else ""


def _message(reply: StubReply, body: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The call goes into `tool_calls` where tools were offered, else it is text."""
    if reply.call is None:
        return {"role": "assistant", "content": reply.content}, "stop"
    name, arguments = reply.call
    text = json.dumps(arguments)
    if not body.get("tools"):
        return {"role": "assistant", "content": f"{reply.content}\n{name} {text}"}, "stop"
    call = {"index": 0, "id": "call_0", "type": "function", "function": {"name": name, "arguments": text}}
    return {"role": "assistant", "content": reply.content, "tool_calls": [call]}, "tool_calls"


def _whole(reply: StubReply, body: dict[str, Any]) -> dict[str, Any]:
    message, reason = _message(reply, body)
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": _logprobs(reply.tokens, body)}
    return {"object": "chat.completion", "model": MODEL, "choices": [choice], "usage": _usage(reply)}


def _usage(reply: StubReply) -> dict[str, Any]:
    return {
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": len(reply.tokens),
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }


def _token_delta(tokens: tuple[StubToken, ...], body: dict[str, Any]) -> dict[str, Any]:
    delta = _delta({"content": "".join(token.text for token in tokens)})
    delta["choices"][0]["logprobs"] = _logprobs(tokens, body)
    return delta


def _logprobs(tokens: tuple[StubToken, ...], body: dict[str, Any]) -> dict[str, Any] | None:
    if not body.get("logprobs"):
        return None
    best = (((token.text, token.logprob), (token.rival, token.rival_logprob)) for token in tokens)
    return {
        "content": [
            {"token": text, "logprob": logprob, "top_logprobs": [{"token": t, "logprob": p} for t, p in pair]}
            for pair in best
            for text, logprob in pair[:1]
        ]
    }


def _delta(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "model": MODEL, "choices": [choice]}


def _event(fields: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(fields).encode() + b"\n\n"
