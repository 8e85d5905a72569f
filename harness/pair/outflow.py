"""How a reply leaves a worker: chunk by chunk, or whole.

Owns: the order of steps, and when a failure can still be an HTTP status. Does not own: what a chunk holds
(`chat_reply`, `completion_reply`), the queue.
Floor 5. Source: facts/sglang.md section 4: headers go out with the first token, so that a request that fails before it
gets an HTTP status.
"""

from __future__ import annotations

from typing import Protocol

from aiohttp import web

from harness.pair.answers import error_answer
from harness.pair.token_queue import Finish, Token, TokenQueue


class Shape(Protocol):
    """One reply in the shape of one API."""

    def opening(self, t_ns: int) -> list[bytes]:
        """What a stream begins with."""

    def frames(self, item: Token | Finish) -> list[bytes]:
        """What a stream says of one item; of the last one, also that it is the last."""

    def keep(self, item: Token | Finish) -> None:
        """Take one item of a reply that is sent whole."""

    def body(self, finish: Finish) -> bytes:
        """The whole reply."""


async def stream(request: web.Request, queue: TokenQueue, shape: Shape) -> web.StreamResponse:
    """The answer, or what of it was sent before its reader hung up: an everyday matter, and nobody's error."""
    items = await queue.take()
    first = items[0]
    if isinstance(first, Finish) and first.reason in ("error", "abort"):
        return _failure(first)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    response.enable_chunked_encoding()
    frames = shape.opening(first.t_ns)
    try:
        await response.prepare(request)
        while True:
            for item in items:
                frames += shape.frames(item)
            await response.write(b"".join(frames))
            if isinstance(items[-1], Finish):
                break
            frames = []
            items = await queue.take()
        await response.write_eof()
    except ConnectionError:
        return response
    return response


async def whole(queue: TokenQueue, shape: Shape) -> web.Response:
    while True:
        for item in await queue.take():
            shape.keep(item)
            if isinstance(item, Finish):
                if item.reason in ("error", "abort"):
                    return _failure(item)
                return web.Response(body=shape.body(item), content_type="application/json")


def sentence(finish: Finish) -> str:
    """Why a reply has failed."""
    return finish.message or {"error": "the engine failed", "abort": "the request was aborted"}[finish.reason]


def _failure(finish: Finish) -> web.Response:
    return error_answer(sentence(finish), status=500, kind="InternalServerError")
