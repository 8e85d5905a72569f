"""A small router: one request to both workers at once, decode's answer to the client byte for byte.

Owns: what a client sees when one of the halves fails. Does not own: retries, health checks, balancing (the real
`sglang-router` can stand here instead), or any knowledge of a body beyond its last brace (`splice.py`).
Floor 5. Source: facts/sglang.md section 4, facts/real-servers.md section 1.

As with the real ones, nothing reaches the client until both workers have sent their headers, and a prefill that
dies after its 200 goes unnoticed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import aiohttp
import orjson
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge

from harness.load.names import Role
from harness.pair.answers import (
    application,
    error_answer,
    json_answer,
    metrics_answer,
    model_list,
)
from harness.pair.engines import ModelFacts
from harness.pair.gathered_metrics import gathered
from harness.pair.splice import Rooms, with_bootstrap
from harness.pair.worker_facts import BOOTSTRAP_PORT, SERVED_VERSION
from harness.transport.bulk import READ_BUFFER_BYTES, bulk_body

_HOP_HEADERS: Final = frozenset({"transfer-encoding", "content-length", "connection", "keep-alive", "date", "server"})


@dataclass(frozen=True, slots=True)
class _HalfFailed:
    """Why the request ends here: what the client is told."""

    answer: web.Response


class Router:
    """Holds one client session to both workers while it is entered.

    workers: their registries, where it may show them: who measures from outside knows the router's address only.
    """

    def __init__(
        self,
        *,
        prefill_url: str,
        decode_url: str,
        seed: int,
        model: ModelFacts,
        workers: Sequence[CollectorRegistry] = (),
    ) -> None:
        self.prefill_url = prefill_url
        self.decode_url = decode_url
        self.registry = CollectorRegistry()
        self._workers = tuple(workers)
        self._model = model
        self._rooms = Rooms(seed)
        self._session: aiohttp.ClientSession | None = None
        self._answers = Counter(
            "kvrace:router_answers", "Answers to clients by status.", ["status"], registry=self.registry
        )
        self._open = Gauge("kvrace:router_open_requests", "Requests being routed.", registry=self.registry)

    def __repr__(self) -> str:
        return f"Router(prefill={self.prefill_url}, decode={self.decode_url})"

    async def __aenter__(self) -> Router:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=False,
        )
        return self

    async def __aexit__(self, *failure: object) -> None:
        if self._session is not None:
            await self._session.close()

    def application(self) -> web.Application:
        return application(
            [
                web.post("/v1/chat/completions", self.generate),
                web.post("/v1/completions", self.generate),
                web.get("/health", self._health),
                web.get("/readiness", self._health),
                web.get("/server_info", self._server_info),
                web.get("/get_server_info", self._server_info),
                web.get("/model_info", self._model_info),
                web.get("/get_model_info", self._model_info),
                web.get("/v1/models", self._models),
                web.get("/metrics", self._metrics),
                web.post("/flush_cache", self._flush_cache),
                web.post("/reset_prefix_cache", self._flush_cache),
            ]
        )

    async def generate(self, request: web.Request) -> web.StreamResponse:
        """POST of a chat or a completion: which of them, the workers read from the path."""
        self._open.inc()
        try:
            answer = await self._route(request)
            self._answers.labels(status=str(answer.status)).inc()
            return answer
        finally:
            self._open.dec()

    async def _route(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        paired = with_bootstrap(
            body, host=self.prefill_url.split("//")[1].split(":")[0], port=BOOTSTRAP_PORT, room=self._rooms.room(body)
        )
        if paired is None:
            return error_answer("the body must be a JSON object", status=400, kind="BadRequestError")
        prefill = asyncio.ensure_future(self._post("prefill", request.path_qs, paired))
        decode = asyncio.ensure_future(self._post("decode", request.path_qs, paired))
        try:
            failed = await self._first_failure(prefill, decode)
            if failed is not None:
                return failed.answer
            drain = asyncio.ensure_future(_read_to_end(_response(prefill)))
            try:
                return await _pass_on(request, _response(decode))
            finally:
                await _settled(drain)
        finally:
            for half in (prefill, decode):
                # Not once the wait is over: a client that hangs up, or the end of the server, may cut that short.
                half.add_done_callback(_let_go)
            await _settled(prefill, decode)

    async def _first_failure(self, *halves: asyncio.Future[_Half]) -> _HalfFailed | None:
        waiting: set[asyncio.Future[_Half]] = set(halves)
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            # Prefill first: when both have failed, the cause is on its side.
            for half in halves:
                if half in done and isinstance(failure := half.result(), _HalfFailed):
                    return failure
        return None

    async def _post(self, role: Role, path: str, body: bytes) -> _Half:
        assert self._session is not None, "the router is not entered"
        url = (self.prefill_url if role == "prefill" else self.decode_url) + path
        try:
            response = await self._session.post(url, data=bulk_body(body), headers={"Content-Type": "application/json"})
            if response.status == 200:
                return response
            return _HalfFailed(await _refusal(role, response))
        except aiohttp.ClientError as problem:
            sentence = f"the {role} worker does not answer: {problem}"
            return _HalfFailed(error_answer(sentence, status=502, kind=f"{role}_unreachable"))

    async def _health(self, request: web.Request) -> web.Response:
        for role in ("prefill", "decode"):
            status, text = await self._ask("GET", role, "/health")
            if status != 200:
                return error_answer(f"the {role} worker is not well: {text}", status=503, kind="unhealthy")
        return web.Response(text="OK")

    async def _flush_cache(self, request: web.Request) -> web.Response:
        for role in ("prefill", "decode"):
            status, text = await self._ask("POST", role, "/flush_cache")
            if status != 200:
                return error_answer(f"the {role} worker did not flush: {text}", status=status, kind="BadRequestError")
        return web.Response(text="Cache flushed.\n")

    async def _ask(self, method: str, role: str, path: str) -> tuple[int, str]:
        assert self._session is not None, "the router is not entered"
        url = (self.prefill_url if role == "prefill" else self.decode_url) + path
        try:
            async with self._session.request(method, url) as response:
                return response.status, await response.text()
        except aiohttp.ClientError as problem:
            return 502, str(problem)

    async def _server_info(self, request: web.Request) -> web.Response:
        urls = {"prefill": [self.prefill_url], "decode": [self.decode_url]}
        return json_answer({"model_path": self._model.name, "version": SERVED_VERSION, **urls, **self._model.details})

    async def _model_info(self, request: web.Request) -> web.Response:
        return json_answer(
            {"model_path": self._model.name, "tokenizer_path": self._model.tokenizer_path, "is_generation": True}
        )

    async def _models(self, request: web.Request) -> web.Response:
        return json_answer(model_list(self._model))

    async def _metrics(self, request: web.Request) -> web.Response:
        return metrics_answer(gathered((self.registry, *self._workers)))


_Half = aiohttp.ClientResponse | _HalfFailed


def _response(half: asyncio.Future[_Half]) -> aiohttp.ClientResponse:
    response = half.result()
    assert isinstance(response, aiohttp.ClientResponse), f"this half has failed: {response}"
    return response


def _let_go(half: asyncio.Future[_Half]) -> None:
    if not half.cancelled() and isinstance(half.result(), aiohttp.ClientResponse):
        _response(half).release()


async def _refusal(role: Role, response: aiohttp.ClientResponse) -> web.Response:
    """What the client gets for a half's error: decode's own words, or prefill's in a sentence that names it."""
    body = await response.read()
    if role == "decode":
        return web.Response(body=body, status=response.status, content_type=response.content_type)
    return error_answer(
        f"the prefill worker answered {response.status}: {_message(body)}",
        status=response.status if response.status >= 400 else 502,
        kind="prefill_bad_request" if 400 <= response.status < 500 else "prefill_failed",
    )


def _message(body: bytes) -> str:
    try:
        return str(orjson.loads(body)["error"]["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return body[:200].decode(errors="replace")


async def _pass_on(request: web.Request, decode: aiohttp.ClientResponse) -> web.StreamResponse:
    headers = {name: value for name, value in decode.headers.items() if name.lower() not in _HOP_HEADERS}
    if decode.headers.get("Content-Length"):
        return web.Response(body=await decode.read(), status=decode.status, headers=headers)
    answer = web.StreamResponse(status=decode.status, headers=headers)
    answer.enable_chunked_encoding()
    try:
        await answer.prepare(request)
        async for piece in decode.content.iter_any():
            await answer.write(piece)
    except aiohttp.ClientError:
        # Decode has died mid-stream, or the client has gone: an orderly end would tell a client that this was all.
        if request.transport is not None:
            request.transport.abort()
        return answer
    await answer.write_eof()
    return answer


async def _read_to_end(response: aiohttp.ClientResponse) -> None:
    try:
        async for _ in response.content.iter_any():
            pass
    except aiohttp.ClientError:
        return


async def _settled(*tasks: asyncio.Future[_Half] | asyncio.Future[None]) -> None:
    """Cancel what still runs and wait for it, so that nothing outlives the request."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
