"""The proxy's core over real sockets: what passes, what does not, and what each side sees when the other fails."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import aiohttp
import pytest

from harness.load.clock import WallClock
from harness.proxy.contract import Ending, Farewell, PassingRequest
from harness.proxy.passing import ReverseProxy
from harness.transport.contract import ChatRequest, Reply, TransportOptions
from harness.transport.errors import EngineProtocolError, EngineTimeout
from harness.transport.raw import RawTransport
from kernels.errors import EnvironmentProblem
from tests.harness.rig import get
from tests.harness.transport.byte_server import HANG, RESET, byte_server, chunked, head
from tests.harness.transport.streams import DONE, chunk

pytestmark = pytest.mark.asyncio

STREAM = [chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo"}, reason="stop") + DONE]


@dataclass
class Recorder:
    """A watcher that passes everything on and notes what it was told; `last` is how the client's answer ends."""

    last: Farewell = field(default_factory=Farewell)
    requests: list[PassingRequest] = field(default_factory=list)
    told: list[object] = field(default_factory=list)
    ended_once: asyncio.Event = field(default_factory=asyncio.Event)

    def watch(self, request: PassingRequest) -> Recorder:
        self.requests.append(request)
        return self

    def answered(self, status: int, content_type: str) -> None:
        self.told.append((status, content_type))

    def piece(self, data: bytes) -> Sequence[bytes]:
        self.told.append(data)
        return (data,)

    def ended(self, fault: str | None) -> Farewell:
        self.told.append(fault)
        self.ended_once.set()
        return self.last


async def asked(base_url: str, read_timeout_s: float = 5.0) -> Reply:
    clock = WallClock()
    options = TransportOptions(base_url, read_timeout_s=read_timeout_s, headers={"X-Trace": "abc"}, api_key="sk-1")
    client = RawTransport(options, now_ns=lambda: clock.now_ns)
    try:
        return await client.chat(ChatRequest("s0000-t00", "m", [{"role": "user", "content": "Hi"}]))
    finally:
        await client.close()


async def test_request_and_answer_pass_as_they_are() -> None:
    seen = Recorder()
    async with byte_server(head(), *chunked(*STREAM)) as server, ReverseProxy(server.url, watch=seen.watch) as proxy:
        reply = await asked(proxy.base_url)
    assert (reply.content, reply.finish_reason, reply.error) == ("Hello", "stop", None)
    (sent,) = server.requests
    (request,) = seen.requests
    assert sent.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert sent.endswith(b"\r\n\r\n" + request.body)
    assert (request.method, request.path, request.headers["x-trace"]) == ("POST", "/v1/chat/completions", "abc")
    fields = dict(line.lower().split(b": ", 1) for line in sent.split(b"\r\n\r\n")[0].split(b"\r\n")[1:])
    assert (fields[b"authorization"], fields[b"x-trace"]) == (b"bearer sk-1", b"abc")
    # The server is asked for plain bytes, whatever the client takes, and for its own name.
    assert fields[b"accept-encoding"] == b"identity"
    assert fields[b"host"] == server.url.split("/")[2].encode()
    assert seen.told[0] == (200, "text/event-stream")
    assert b"".join(told for told in seen.told if isinstance(told, bytes)) == "".join(STREAM).encode()
    assert seen.told[-1] is None


@pytest.mark.parametrize("prefix", ["/v1", "", "/openai/v1"])
async def test_paths_beside_the_base_url_pass_too(prefix: str) -> None:
    body = b"up 1\n"
    async with byte_server(head(kind="text/plain", length=len(body)), body) as server:
        upstream = server.url.removesuffix("/v1") + prefix
        server_paths = server.requests
        async with ReverseProxy(upstream, watch=lambda _: None) as proxy:
            root = proxy.base_url.removesuffix("/v1")
            async with aiohttp.ClientSession() as session, session.post(f"{root}/metrics?name=a%20b", data=b"") as done:
                assert (done.status, await done.read(), done.headers["Content-Length"]) == (200, body, "5")
    assert server_paths[0].startswith(f"POST {prefix.removesuffix('/v1')}/metrics?name=a%20b HTTP/1.1".encode())


async def test_server_that_is_not_there_is_a_502_and_is_told() -> None:
    seen = Recorder()
    async with byte_server() as gone:
        url = gone.url
    async with ReverseProxy(url, watch=seen.watch) as proxy:
        status, body = await get(f"{proxy.base_url}/models")
    assert status == 502
    assert b"cannot be reached" in body
    assert len(seen.told) == 1
    assert "cannot be reached" in str(seen.told[0])


async def test_server_that_breaks_off_is_a_cut_for_the_client_too() -> None:
    seen = Recorder()
    pieces = (head(), *chunked(STREAM[0], ends=False), RESET)
    async with byte_server(*pieces) as server, ReverseProxy(server.url, watch=seen.watch) as proxy:
        reply = await asked(proxy.base_url)
    assert isinstance(reply.error, EngineProtocolError)
    assert reply.error.fault == "cut"
    assert "broke off" in str(seen.told[-1])


async def test_client_that_hangs_up_is_told_and_the_server_is_left() -> None:
    seen = Recorder()
    pieces = (head(), *chunked(STREAM[0], ends=False), HANG)
    async with byte_server(*pieces) as server, ReverseProxy(server.url, watch=seen.watch) as proxy:
        reply = await asked(proxy.base_url, read_timeout_s=0.2)
        await asyncio.wait_for(seen.ended_once.wait(), 5)
    assert isinstance(reply.error, EngineTimeout)
    assert seen.told[-1] == "the client hung up"


async def test_watcher_decides_how_an_answer_ends() -> None:
    extra = chunk({"content": "!"})
    found = {}
    for ending in Ending:
        seen = Recorder(Farewell((extra.encode(),), ending))
        pieces = (head(), *chunked(STREAM[0]))
        async with byte_server(*pieces) as server, ReverseProxy(server.url, watch=seen.watch) as proxy:
            found[ending] = await asked(proxy.base_url, read_timeout_s=0.3)
    # What the server sent has no end mark, so all three are faults, each its own.
    errors = {ending: reply.error for ending, reply in found.items()}
    assert isinstance(errors[Ending.SILENT], EngineTimeout)
    assert [getattr(errors[ending], "fault", None) for ending in (Ending.WHOLE, Ending.CUT)] == ["cut", "cut"]
    assert "middle of the body" not in str(errors[Ending.WHOLE])
    assert found[Ending.WHOLE].raw == STREAM[0] + extra
    assert found[Ending.SILENT].raw == STREAM[0] + extra


async def test_port_in_use_is_told() -> None:
    async with byte_server() as server:
        port = int(server.url.rsplit(":", 1)[1].removesuffix("/v1"))
        with pytest.raises(EnvironmentProblem, match=f"port {port} on 127.0.0.1, meant for the proxy, is in use"):
            async with ReverseProxy(server.url, watch=lambda _: None, port=port):
                pass
