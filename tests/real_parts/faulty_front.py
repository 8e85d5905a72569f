"""A worker's front door that goes wrong on purpose, and notes what every balancer brings to it.

Owns: passing requests on to one of our workers byte for byte, planting faults, and the list of deliveries. Does not
own: the worker, the balancer, any assertion. Floor: tests. Source: facts/real-servers.md section 1 (the faults).
"""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from harness.pair.listening import accept_no_more, listening_socket, serve

CHAT = "/v1/chat/completions"
_HOP = {"transfer-encoding", "content-length", "connection", "keep-alive", "content-encoding"}
"""Headers about one connection, which are not passed on."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One POST that reached this door. name: of the turn, as the body tells it."""

    name: str
    room: int
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@dataclass(slots=True, eq=False)
class FaultyFront:
    """faults: of `benchmarks/live/outcomes.FAULTS`, by the turn's name: at its first delivery here, later ones pass.

    on_arrival: told of every delivery, before it is passed on.
    """

    bound: socket.socket
    worker_url: str
    faults: Mapping[str, str] = field(default_factory=dict)
    on_arrival: Callable[[Delivery], None] = lambda _: None
    deliveries: list[Delivery] = field(default_factory=list)
    _session: aiohttp.ClientSession | None = None
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.bound.getsockname()[1]}"

    def rooms_of(self, name: str) -> list[int]:
        return [one.room for one in self.deliveries if one.name == name]

    async def die(self) -> None:
        """As a process that was killed: connections break, and no new one is taken."""
        await accept_no_more(self.bound)
        assert self._runner is not None
        for site in list(self._runner.sites):
            await site.stop()
        assert self._runner.server is not None
        for connection in list(self._runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except ConnectionError:
            # The balancer has hung up, or our worker has.
            return web.Response()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        fault = self._noted(request, raw) if request.path == CHAT else None
        assert request.transport is not None
        if fault in ("refused", "bad_request"):
            status = 500 if fault == "refused" else 400
            return web.json_response({"error": {"message": f"planted: {fault}"}}, status=status)
        if fault == "dropped":
            request.transport.abort()
            return web.Response()
        assert self._session is not None
        sent = self._session.request(
            request.method, self.worker_url + request.path_qs, data=raw, headers=_passed_on(request.headers)
        )
        async with sent as answer:
            if fault == "lost":
                request.transport.abort()
                return web.Response()
            response = web.StreamResponse(status=answer.status, headers=_passed_on(answer.headers))
            await response.prepare(request)
            if fault is None:
                async for piece in answer.content.iter_any():
                    await response.write(piece)
                return response
            await _spoiled(request, response, await answer.read(), fault)
            return response

    def _noted(self, request: web.Request, raw: bytes) -> str | None:
        body = json.loads(raw)
        name = str(body.get("safety_identifier") or body.get("user") or "")
        is_first = not self.rooms_of(name)
        self.deliveries.append(Delivery(name, body["bootstrap_room"], dict(request.headers), body))
        self.on_arrival(self.deliveries[-1])
        return self.faults.get(name) if is_first else None


async def _spoiled(request: web.Request, response: web.StreamResponse, whole: bytes, fault: str) -> None:
    events = whole.split(b"\n\n")
    half = b"\n\n".join(events[: len(events) // 2]) + b"\n\n"
    match fault:
        case "error_in_200":
            error = json.dumps({"error": {"message": "planted: the scheduler is gone", "code": 500}}).encode()
            await response.write(half + b"data: " + error + b"\n\ndata: [DONE]\n\n")
        case "no_done":
            assert events[-2:] == [b"data: [DONE]", b""], events[-2:]
            await response.write(b"\n\n".join(events[:-2]) + b"\n\n")
        case "cut":
            await response.write(half)
            assert request.transport is not None
            # After the bytes, not instead of them.
            request.transport.close()
        case _:
            raise AssertionError(fault)


def _passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP | {"host"}}


@asynccontextmanager
async def fronting(worker_url: str, faults: Mapping[str, str]) -> AsyncIterator[FaultyFront]:
    async with AsyncExitStack() as stack:
        bound = stack.enter_context(listening_socket("127.0.0.1", 0, what="test"))
        timeout = aiohttp.ClientTimeout(total=None)
        session = aiohttp.ClientSession(timeout=timeout, auto_decompress=False)
        front = FaultyFront(bound, worker_url, faults, _session=await stack.enter_async_context(session))
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", front.handle)
        front._runner = await serve(app, bound, until=stack)
        yield front
