"""The passing on: each request to the server as it came, each answer back piece by piece, under the eyes of a watcher.

Owns: both sockets of an exchange, headers that may not be passed on, and what a client sees when either side fails.
Does not own: what a watcher does with the bytes (`contract.py`). Floor 5.
Source: RFC 9110 section 7.6 (hop-by-hop fields); facts/real-servers.md section 1 (what proxies must not do).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from harness.pair.answers import BODY_BYTES_MAX, error_answer, errors_as_json
from harness.pair.listening import listening_socket, serve
from harness.proxy.contract import Ending, Farewell, PassingRequest, Watch, Watcher
from harness.transport.bulk import READ_BUFFER_BYTES, bulk_body

_HOP_HEADERS: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade"}
)  # fmt: skip
_NOT_ASKED_ON: Final = _HOP_HEADERS | {"host", "content-length", "accept-encoding", "expect"}
_CONNECT_S: Final = 10.0
_CLIENT_GONE: Final = "the client hung up"


class ReverseProxy:
    """`async with ReverseProxy(...) as proxy`: it answers inside, and nothing of it is left afterwards.

    upstream: the server's base URL, with or without `/v1` at its end: `/v1/...` here is `/v1/...` there, and what lies
    beside it (`/metrics`) is passed on too. port: 0 means a free one. watch: asked for each request.
    """

    def __init__(
        self,
        upstream: str,
        *,
        watch: Watch,
        host: str = "127.0.0.1",
        port: int = 0,
        use_environment_proxies: bool = False,
    ) -> None:
        self._upstream = upstream.rstrip("/").removesuffix("/v1")
        self._watch = watch
        self._host = host
        self._port = port
        self._use_environment_proxies = use_environment_proxies
        self._stack = AsyncExitStack()
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"ReverseProxy({self.base_url} -> {urlsplit(self._upstream).hostname})"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"http://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}/v1"

    async def __aenter__(self) -> ReverseProxy:
        """Raises: EnvironmentProblem where the address cannot be had; nothing is left open then."""
        try:
            bound = self._stack.enter_context(listening_socket(self._host, self._port, what="proxy"))
            self._port = bound.getsockname()[1]
            self._session = await self._stack.enter_async_context(
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(limit=0),
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
                    read_bufsize=READ_BUFFER_BYTES,
                    auto_decompress=False,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    trust_env=self._use_environment_proxies,
                )
            )
            await self._serve(bound)
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self._stack.aclose()

    async def _serve(self, bound: socket.socket) -> None:
        app = web.Application(middlewares=[errors_as_json], client_max_size=BODY_BYTES_MAX)
        app.router.add_route("*", "/{path:.*}", self._exchange)
        await serve(app, bound, until=self._stack, decompresses_bodies=False)

    async def _exchange(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        watcher = self._watch(PassingRequest(request.method, request.path, headers, body))
        try:
            response = await self._asked(request, body)
        except asyncio.CancelledError:
            _farewell(watcher, _CLIENT_GONE)
            raise
        except (aiohttp.ClientError, TimeoutError) as problem:
            sentence = f"the server behind this proxy cannot be reached: {problem or type(problem).__name__}"
            _farewell(watcher, sentence)
            return error_answer(sentence, status=502, kind="bad_gateway")
        try:
            return await _pass_back(request, response, watcher)
        finally:
            # A whole answer gives its connection back, and the rest of a broken one must not be read by anybody.
            response.close()

    async def _asked(self, request: web.Request, body: bytes) -> aiohttp.ClientResponse:
        assert self._session is not None, "the proxy is not entered"
        return await self._session.request(
            request.method,
            f"{self._upstream}{request.path_qs}",
            data=bulk_body(body) if body else None,
            headers=[*_kept(request.headers, _NOT_ASKED_ON), ("Accept-Encoding", "identity")],
            allow_redirects=False,
            skip_auto_headers=("User-Agent", "Accept", "Content-Type"),
        )


class _ServerBroke(Exception):
    """The answer of the server ended before its end."""


async def _pass_back(
    request: web.Request, response: aiohttp.ClientResponse, watcher: Watcher | None
) -> web.StreamResponse:
    # A watcher may lengthen or shorten the body, so its length is told by chunks.
    left_out = _HOP_HEADERS | {"content-length"} if watcher is not None else _HOP_HEADERS
    answer = web.StreamResponse(
        status=response.status, reason=response.reason, headers=_kept(response.headers, left_out)
    )
    has_body = request.method != "HEAD" and response.status not in (204, 304)
    if has_body and "Content-Length" not in answer.headers:
        answer.enable_chunked_encoding()
    fault: str | None = None
    try:
        if watcher is not None:
            watcher.answered(response.status, response.content_type.lower())
        await answer.prepare(request)
        try:
            async for data in _pieces(response):
                for piece in (data,) if watcher is None else watcher.piece(data):
                    await answer.write(piece)
        except _ServerBroke as problem:
            fault = f"the server broke off: {problem}"
    except (asyncio.CancelledError, ConnectionResetError):
        _farewell(watcher, _CLIENT_GONE)
        raise
    await _end(request, answer, _farewell(watcher, fault), is_broken=fault is not None)
    return answer


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    try:
        async for data in response.content.iter_any():
            yield data
    except aiohttp.ClientError as problem:
        raise _ServerBroke(str(problem) or type(problem).__name__) from None


async def _end(request: web.Request, answer: web.StreamResponse, last: Farewell, *, is_broken: bool) -> None:
    for piece in last.pieces:
        await answer.write(piece)
    if last.ending is Ending.SILENT:
        # Until the client hangs up, which cancels this.
        await asyncio.get_running_loop().create_future()
    if last.ending is Ending.CUT or is_broken:
        # An orderly end would tell the client that this was all.
        if request.transport is not None:
            request.transport.abort()
        return
    await answer.write_eof()


def _farewell(watcher: Watcher | None, fault: str | None) -> Farewell:
    return Farewell() if watcher is None else watcher.ended(fault)


def _kept(headers: Mapping[str, str], left_out: frozenset[str]) -> list[tuple[str, str]]:
    """Fields that belong to the message, not to one connection."""
    named = {field.strip().lower() for field in headers.get("Connection", "").split(",")}
    return [(name, value) for name, value in headers.items() if name.lower() not in left_out | named]
