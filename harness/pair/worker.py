"""A prefill or a decode server: one engine behind the HTTP surface of an SGLang worker.

Owns: the routes that generate, from body to last byte, and the order of their steps. Does not own: the engine, the
gate and its keys (`admission.py`), what bodies and replies look like, the other routes (`worker_facts.py`).
Floor 5. Source: facts/sglang.md section 4, facts/real-servers.md section 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from harness.load.names import Role
from harness.pair import outflow
from harness.pair.admission import Admission, RoomTakenError, RoomUsedUpError, Ticket
from harness.pair.answers import error_answer
from harness.pair.body import ChatBody, chat_body
from harness.pair.chat_reply import ChatReply
from harness.pair.completion_body import CompletionBody, completion_body
from harness.pair.completion_reply import CompletionReply
from harness.pair.engines import Engine, Gate, HostHits, ModelFacts
from harness.pair.fields import BadBodyError
from harness.pair.token_queue import Finish, TokenQueue
from harness.pair.worker_metrics import WorkerMetrics

_Body = ChatBody | CompletionBody

_TOKENS_PER_WAKE_VIRTUAL: Final = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Behind:
    """What a server works for."""

    engine: Engine
    gate: Gate
    admission: Admission


class Worker:
    """Serves one engine; two of them share one `Admission`."""

    def __init__(
        self,
        role: Role,
        engine: Engine,
        *,
        gate: Gate,
        admission: Admission,
        model: ModelFacts,
        host_hits: HostHits | None = None,
    ) -> None:
        self.role = role
        self.model = model
        self.metrics = WorkerMetrics(model.name, role, self._running_now, host_hits)
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

    def _running_now(self) -> int:
        return 0 if self._behind is None else self._behind.engine.running_requests

    def retire(self) -> None:
        """Let go of the machine. aiohttp remembers handlers for the life of the process, and a machine is large."""
        self._behind = None

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/chat/completions."""
        return await self._answer(request, chat_body)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        """POST /v1/completions."""
        return await self._answer(request, completion_body)

    async def _answer(self, request: web.Request, read: Callable[[bytes], _Body]) -> web.StreamResponse:
        try:
            body = read(await request.read())
            ticket = self._served.admission.arrive(
                self.role, user=body.user, room_id=body.room, abort=self.engine.abort
            )
        except BadBodyError as problem:
            self.metrics.refused()
            return error_answer(problem.sentence, status=400, kind="BadRequestError", parameter=problem.parameter)
        except RoomTakenError as problem:
            self.metrics.refused()
            return error_answer(str(problem), status=409, kind="conflict", parameter="bootstrap_room")
        except RoomUsedUpError as problem:
            # As when a hand-off fails: routers then try the pair again, under a new room.
            self.metrics.refused()
            return error_answer(str(problem), status=500, kind="InternalServerError", parameter="bootstrap_room")
        return await self._serve(request, body, ticket)

    async def _serve(self, request: web.Request, body: _Body, ticket: Ticket) -> web.StreamResponse:
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
        generate = body.request(ticket.request_id, ticket.order)
        served.gate.submit(ticket.order, lambda: served.engine.submit(generate, queue))
        self.metrics.started()
        shape = _shape(body, ticket.request_id, body.model or self.model.name)
        try:
            return await (outflow.stream(request, queue, shape) if body.is_stream else outflow.whole(queue, shape))
        finally:
            if queue.finish is None:
                # Whoever asked has gone.
                served.admission.abandoned(ticket)
            queue.detach()
            served.admission.close(ticket)
            self.metrics.finished(queue.finish, ticket.request_id)


def _shape(body: _Body, request_id: str, model: str) -> outflow.Shape:
    if isinstance(body, ChatBody):
        return ChatReply(body, request_id, model)
    return CompletionReply(body, request_id, model)
