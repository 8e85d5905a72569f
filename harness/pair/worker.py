"""A prefill or a decode server: one engine behind the HTTP surface of an SGLang worker.

Owns: the chat route from body to last byte, and the order of its steps. Does not own: the engine, the gate and its
keys (`admission.py`), the shape of frames (`frames.py`), the other routes (`worker_facts.py`).
Floor 5. Source: facts/sglang.md section 4, facts/real-servers.md section 1.

Headers are sent with the first token, as SGLang does, so that a request that fails before it gets an HTTP status.
"""

from __future__ import annotations

import asyncio
from codecs import getincrementaldecoder
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from harness.load.names import Role
from harness.pair.admission import Admission, RoomTakenError, Ticket
from harness.pair.answers import error_answer
from harness.pair.body import BadBodyError, ChatBody, chat_body
from harness.pair.call_parser import CallParser, Piece
from harness.pair.engines import Engine, Gate, GenerateRequest, ModelFacts
from harness.pair.frames import (
    DONE,
    ReplyHead,
    error_frame,
    finish_frame,
    piece_frame,
    role_frame,
    usage_frame,
    whole_reply,
)
from harness.pair.token_queue import Finish, Token, TokenQueue
from harness.pair.worker_metrics import WorkerMetrics

_TOKENS_PER_WAKE_VIRTUAL: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Behind:
    """What a server works for."""

    engine: Engine
    gate: Gate
    admission: Admission


class Worker:
    """Serves one engine; two of them share one `Admission`."""

    def __init__(self, role: Role, engine: Engine, *, gate: Gate, admission: Admission, model: ModelFacts) -> None:
        self.role = role
        self.model = model
        self.metrics = WorkerMetrics(model.name, role)
        self._behind: _Behind | None = _Behind(engine, gate, admission)

    def __repr__(self) -> str:
        return f"Worker({self.role}, {'stopped' if self._behind is None else self._behind.admission})"

    @property
    def engine(self) -> Engine:
        return self._served.engine

    @property
    def _served(self) -> _Behind:
        assert self._behind is not None, f"{self!r} was asked after its end"
        return self._behind

    def retire(self) -> None:
        """Let go of the machine. aiohttp remembers handlers for the life of the process, and a machine is large."""
        self._behind = None

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        try:
            body = chat_body(await request.read())
            ticket = self._served.admission.arrive(
                self.role, user=body.user, room_id=body.room, abort=self.engine.abort
            )
        except BadBodyError as problem:
            self.metrics.refused()
            return error_answer(problem.sentence, status=400, kind="BadRequestError", parameter=problem.parameter)
        except RoomTakenError as problem:
            self.metrics.refused()
            return error_answer(str(problem), status=409, kind="conflict", parameter="bootstrap_room")
        return await self._serve(request, body, ticket)

    async def _serve(self, request: web.Request, body: ChatBody, ticket: Ticket) -> web.StreamResponse:
        served = self._served

        def on_finish_seen(finish: Finish) -> None:
            if finish.reason == "error":
                served.admission.failed(ticket)
            else:
                served.admission.ended(ticket)

        queue = TokenQueue(
            tokens_per_wake=_TOKENS_PER_WAKE_VIRTUAL if served.gate.is_virtual else 1,
            on_finish_seen=on_finish_seen,
        )
        generate = _generate_request(body, ticket)
        served.gate.submit(ticket.order, lambda: served.engine.submit(generate, queue))
        self.metrics.started()
        reply = _Reply(body, ReplyHead(ticket.request_id, body.model or self.model.name), queue)
        try:
            return await (reply.stream(request) if body.is_stream else reply.whole())
        except (asyncio.CancelledError, ConnectionError):
            if queue.finish is None:
                served.admission.abandoned(ticket)
            raise
        finally:
            queue.detach()
            served.admission.close(ticket)
            self.metrics.finished(queue.finish)


class _Reply:
    """One reply on its way out: tokens to characters to pieces to frames."""

    def __init__(self, body: ChatBody, head: ReplyHead, queue: TokenQueue) -> None:
        self._head = head
        self._queue = queue
        self._wants_usage = body.wants_usage
        # An engine's token may end inside a character, so decoding has to remember; bytes that never become a
        # character are shown as U+FFFD, as SGLang shows them.
        self._characters = getincrementaldecoder("utf-8")("replace")
        self._parser = CallParser(body.tool_names)

    async def stream(self, request: web.Request) -> web.StreamResponse:
        items = await self._queue.take()
        first = items[0]
        if isinstance(first, Finish) and first.reason in ("error", "abort"):
            return _failure(first)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        frames = [role_frame(self._head, first.t_ns)]
        while True:
            for item in items:
                frames += self._frames(item)
            await response.write(b"".join(frames))
            if isinstance(items[-1], Finish):
                break
            frames = []
            items = await self._queue.take()
        await response.write_eof()
        return response

    async def whole(self) -> web.Response:
        pieces: list[Piece] = []
        while True:
            for item in await self._queue.take():
                pieces += self._pieces(item)
                if isinstance(item, Finish):
                    if item.reason in ("error", "abort"):
                        return _failure(item)
                    body = whole_reply(self._head, pieces, reason=self._reason(item), usage=item.usage, t_ns=item.t_ns)
                    return web.Response(body=body, content_type="application/json")

    def _pieces(self, item: Token | Finish) -> list[Piece]:
        if isinstance(item, Token):
            return self._parser.feed(self._characters.decode(item.text))
        return self._parser.feed(self._characters.decode(b"", final=True)) + self._parser.close()

    def _frames(self, item: Token | Finish) -> list[bytes]:
        frames = [piece_frame(self._head, piece, item.t_ns) for piece in self._pieces(item)]
        if isinstance(item, Token):
            return frames
        if item.reason == "error":
            return [*frames, error_frame(_sentence(item), status=500, kind="InternalServerError"), DONE]
        frames.append(finish_frame(self._head, self._reason(item), item.t_ns))
        if self._wants_usage:
            frames.append(usage_frame(self._head, item.usage, item.t_ns))
        return [*frames, DONE]

    def _reason(self, finish: Finish) -> str:
        return "tool_calls" if finish.reason == "stop" and self._parser.is_call else finish.reason


def _generate_request(body: ChatBody, ticket: Ticket) -> GenerateRequest:
    return GenerateRequest(
        request_id=ticket.request_id,
        order=ticket.order,
        room=ticket.room,
        messages=body.messages,
        tools=body.tools,
        max_new_tokens=body.max_new_tokens,
        temperature=body.temperature,
        top_p=body.top_p,
        seed=body.seed,
    )


def _failure(finish: Finish) -> web.Response:
    return error_answer(_sentence(finish), status=500, kind="InternalServerError")


def _sentence(finish: Finish) -> str:
    return finish.message or {"error": "the engine failed", "abort": "the request was aborted"}[finish.reason]
