"""Key and headers go to the server that was named and to nobody else: to no metrics elsewhere, over no redirection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from harness.live.serial.quiet import QuietServer
from harness.load.clock import WallClock
from harness.pair.listening import listening_socket
from harness.transport.contract import TransportOptions
from harness.transport.own_origin import session_beside

pytestmark = pytest.mark.asyncio

KEY = "sk-" + "very-secret-0123456789"
HEADER = "tenant-secret-1"


@dataclass
class Listening:
    url: str = ""
    redirects_to: str = ""
    heads: dict[str, str] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.Response:
        self.heads[request.path] = str(dict(request.headers))
        if request.path == "/away":
            raise web.HTTPTemporaryRedirect(self.redirects_to)
        return web.Response(text="# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs 0\n")

    def was_told(self, path: str) -> tuple[bool, bool]:
        return (f"Bearer {KEY}" in self.heads[path], HEADER in self.heads[path])


@asynccontextmanager
async def listening() -> AsyncIterator[Listening]:
    found = Listening()
    app = web.Application()
    app.router.add_route("*", "/{any:.*}", found.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    with listening_socket("127.0.0.1", 0, what="test") as bound:
        await web.SockSite(runner, bound).start()
        found.url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        try:
            yield found
        finally:
            await runner.cleanup()


def options(root: str) -> TransportOptions:
    return TransportOptions(f"{root}/v1", api_key=KEY, headers={"X-Api-Key": HEADER})


async def test_quiet_server_sends_its_key_to_no_other_metrics() -> None:
    async with listening() as own, listening() as other:
        urls = (f"{own.url}/metrics", f"{other.url}/metrics")
        async with QuietServer(options(own.url), urls, WallClock()) as server:
            assert await server.wait() == (True, "the server's own gauge told no running request")
            assert await server.flush()
    assert own.was_told("/metrics") == own.was_told("/flush_cache") == (True, True)
    assert other.was_told("/metrics") == (False, False)


async def test_redirection_takes_no_key_along() -> None:
    async with listening() as own, listening() as other:
        own.redirects_to = f"{other.url}/there"
        async with (
            session_beside(options(own.url), total_s=20.0) as session,
            session.get(f"{own.url}/away") as response,
        ):
            assert str(response.url) == f"{other.url}/there"
    assert (own.was_told("/away"), other.was_told("/there")) == ((True, True), (False, False))
