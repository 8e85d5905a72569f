"""The router between scripted workers that misbehave, and a client that hangs up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from harness.pair.answers import server_logger
from harness.pair.engines import ModelFacts
from harness.pair.listening import listening_socket
from harness.pair.router import Router
from tests.harness.rig import get, post, served

pytestmark = pytest.mark.asyncio

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
FRAMES = (b"data: {}\n\n", b"data: \xe8\xaa", b"\x9e\r\n\r\n", b": ping\n\n", b"data: [DONE]\n\n")


async def fine(request: web.Request) -> web.Response:
    return web.json_response({"path": request.path})


async def streams(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Kept": "yes"})
    await response.prepare(request)
    for frame in FRAMES:
        await response.write(frame)
    return response


async def dies_in_the_middle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    await response.write(FRAMES[0])
    assert request.transport is not None
    request.transport.abort()
    return response


async def drops(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def hangs(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response(text=request.path)


def refuses(status: int) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"error": {"message": f"no {status}", "path": request.path}}, status=status)

    return handler


@asynccontextmanager
async def routed(prefill: Handler | None, decode: Handler | None) -> AsyncIterator[str]:
    """The URL of the router's chat route, with these two behind it; None is a worker that is down."""
    runners: list[web.AppRunner] = []

    async def serve(app: web.Application | None) -> str:
        bound = listening_socket("127.0.0.1", 0, what="test")
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        if app is None:
            bound.close()
            return url
        runner = web.AppRunner(app, handler_cancellation=True, logger=server_logger(), shutdown_timeout=0.1)
        await runner.setup()
        runners.append(runner)
        await web.SockSite(runner, bound).start()
        return url

    def worker(handler: Handler | None) -> web.Application | None:
        if handler is None:
            return None
        app = web.Application(client_max_size=10_000_000)
        app.router.add_route("*", "/{path:.*}", handler)
        return app

    try:
        urls = [await serve(worker(handler)) for handler in (prefill, decode)]
        async with Router(prefill_url=urls[0], decode_url=urls[1], seed=0, model=ModelFacts()) as router:
            yield await serve(router.application()) + "/v1/chat/completions"
    finally:
        for runner in runners[::-1]:
            await runner.cleanup()


async def test_decodes_stream_passes_byte_for_byte() -> None:
    async with (
        routed(fine, streams) as url,
        aiohttp.ClientSession() as session,
        session.post(url, data=b"{}") as response,
    ):
        assert response.headers["Content-Type"] == "text/event-stream"
        assert response.headers["X-Kept"] == "yes"
        assert await response.read() == b"".join(FRAMES)


async def test_both_halves_get_one_room_and_decode_answers() -> None:
    rooms: list[int] = []

    async def noting(request: web.Request) -> web.Response:
        rooms.append(json.loads(await request.read())["bootstrap_room"])
        return web.json_response({"rooms": len(rooms)})

    async with routed(noting, noting) as url:
        status, _ = await post(url, b" {} ")
    assert status == 200
    assert len(rooms) == 2
    assert len(set(rooms)) == 1


async def test_body_larger_than_aiohttp_likes_passes() -> None:
    async def measures(request: web.Request) -> web.Response:
        return web.json_response(len(json.loads(await request.read())["x"]))

    async with routed(fine, measures) as url:
        assert await post(url, json.dumps({"x": "y" * 3_000_000}).encode()) == (200, b"3000000")


@pytest.mark.parametrize(
    ("prefill", "decode", "status", "sentence"),
    [
        (refuses(500), hangs, 500, "the prefill worker answered 500: no 500"),
        (refuses(400), fine, 400, "the prefill worker answered 400: no 400"),
        (refuses(429), streams, 429, "the prefill worker answered 429"),
        (fine, refuses(503), 503, "no 503"),
        (hangs, refuses(400), 400, "no 400"),
        (drops, hangs, 502, "the prefill worker does not answer"),
        (fine, drops, 502, "the decode worker does not answer"),
    ],
)
async def test_failed_half_is_told_without_waiting_for_the_other(
    prefill: Handler, decode: Handler, status: int, sentence: str
) -> None:
    async with routed(prefill, decode) as url:
        got, raw = await post(url, b"{}")
        _, metrics = await get(url.replace("/v1/chat/completions", "/metrics"))
    assert got == status
    assert sentence in json.loads(raw)["error"]["message"]
    assert f'kvrace:router_answers_total{{status="{status}"}} 1.0'.encode() in metrics
    assert b"kvrace:router_open_requests 0.0" in metrics


async def test_decode_that_dies_in_the_middle_is_cut_off_and_not_ended() -> None:
    async with (
        routed(fine, dies_in_the_middle) as url,
        aiohttp.ClientSession() as session,
        session.post(url, data=b"{}") as response,
    ):
        assert response.status == 200
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.read()


async def test_prefill_that_dies_after_its_headers_goes_unnoticed() -> None:
    async with routed(dies_in_the_middle, streams) as url:
        assert await post(url, b"{}") == (200, b"".join(FRAMES))


@pytest.mark.parametrize("role", ["prefill", "decode"])
async def test_worker_that_is_down_is_named(role: str) -> None:
    async with routed(*((None, fine) if role == "prefill" else (fine, None))) as url:
        status, raw = await post(url, b"{}")
        health, why = await get(url.replace("/v1/chat/completions", "/health"))
    assert (status, health) == (502, 503)
    assert f"the {role} worker does not answer" in json.loads(raw)["error"]["message"]
    assert f"the {role} worker is not well" in json.loads(why)["error"]["message"]


async def test_client_that_hangs_up_aborts_both_engines() -> None:
    async with served() as (pair, engines):
        engines.is_computing = True  # nothing will ever be prefilled
        body = json.dumps({"messages": [{"role": "user", "content": "x"}]}).encode()
        async with aiohttp.ClientSession() as session:
            request = asyncio.ensure_future(session.post(f"{pair.base_url}/chat/completions", data=body))
            while len(engines.machine.trace) < 2:
                await asyncio.wait([request], timeout=0)
            request.cancel()
            await asyncio.wait([request])
            what: set[str] = set()
            while not {"abort prefill", "abort decode"} <= what:
                await asyncio.wait([request], timeout=0)
                await get(f"{pair.router_url}/v1/models")
                what = {event for _, event, _ in engines.machine.trace}
        _, metrics = await get(pair.worker_url("decode") + "/metrics")
    assert not engines.waiting
    assert not engines.decoding
    assert b'sglang:num_aborted_requests_total{engine_type="decode",model_name="kvrace-recall"} 1.0' in metrics


@pytest.mark.parametrize(("problem", "is_reported"), [(ConnectionResetError("gone"), False), (KeyError("ours"), True)])
async def test_hang_up_is_no_error_of_the_server_and_a_bug_is(
    problem: Exception, is_reported: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: web.Request) -> web.Response:
        raise problem

    async with routed(fails, fine) as url:
        await post(url, b"{}")
    assert any(record.exc_info and record.exc_info[1] is problem for record in caplog.records) is is_reported


async def test_client_that_hangs_up_in_the_middle_aborts_decode() -> None:
    async with served(stall_after=2) as (pair, engines):
        body = json.dumps({"messages": [{"role": "user", "content": "x"}], "stream": True}).encode()
        async with aiohttp.ClientSession() as session:
            response = await session.post(f"{pair.base_url}/chat/completions", data=body)
            assert b"I do" in await response.content.readuntil(b"I do")
            response.close()
        while ("abort decode") not in {event for _, event, _ in engines.machine.trace}:
            await get(f"{pair.router_url}/v1/models")
        _, metrics = await get(f"{pair.router_url}/metrics")
    assert not engines.decoding
    assert b"kvrace:router_open_requests 0.0" in metrics


@pytest.mark.parametrize("step", ["prepare", "write"])
async def test_write_to_a_client_that_has_gone_is_nobody_s_error(
    step: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker may see a closed connection before it is told of it: the request is given up all the same."""
    sound = getattr(web.StreamResponse, step)

    async def closed(response: web.StreamResponse, what: Any) -> Any:
        if response.content_type == "text/event-stream" and (step == "prepare" or b"I do" in what):
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        return await sound(response, what)

    monkeypatch.setattr(web.StreamResponse, step, closed)
    async with served(stall_after=2) as (pair, engines):
        body = {"messages": [{"role": "user", "content": "x"}], "stream": True, "bootstrap_room": 7,
                "bootstrap_host": "127.0.0.1", "bootstrap_port": 1}  # fmt: skip
        asked = [asyncio.ensure_future(post(f"{pair.worker_url(role)}/v1/chat/completions", body))
                 for role in ("prefill", "decode")]  # fmt: skip
        while "abort decode" not in {event for _, event, _ in engines.machine.trace}:
            await get(f"{pair.router_url}/v1/models")
        await asyncio.wait(asked)
    assert not engines.decoding
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
