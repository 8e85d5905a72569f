"""Live runs against the stub models of the benchmark, in one event loop.

Owns: one small run. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from aiohttp import web
from aiohttp.typedefs import Handler

from benchmarks.stubs.behaviour import Behaviour, StubReply
from benchmarks.stubs.recalling import RecallingEngine
from benchmarks.stubs.server import MODEL, StubServer
from harness.live.arrivals import load_shape
from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest
from harness.live.run import LiveRun
from harness.live.serial.settings import SerialSettings
from harness.live.workload import live_workload
from tests.harness.live.live_requests import SMALL
from tests.harness.live.live_requests import request as small_request

SESSIONS = 16
Refuse = Callable[[dict[str, Any]], bool]


@dataclass(slots=True)
class WatchedEngine(RecallingEngine):
    """met: how many requests were in work when each one was answered."""

    met: list[int] = field(default_factory=list)

    def answer(self, prompt: str) -> StubReply:
        self.met.append(self.resident)
        return RecallingEngine.answer(self, prompt)


def engine(behaviour: Behaviour = Behaviour.SOUND, seed: int = 5, **traits: Any) -> WatchedEngine:
    return WatchedEngine(behaviour, np.random.default_rng(seed), **traits)


@asynccontextmanager
async def serving(
    model: RecallingEngine, *, can_flush: bool = True, refuse: Refuse = lambda _: False, metrics: str | None = None
) -> AsyncIterator[str]:
    """Base URL of the stub. refuse: requests that get a 400. metrics: the text of /metrics."""

    @web.middleware
    async def doors(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/metrics" and metrics is not None:
            return web.Response(text=metrics)
        if request.path == "/flush_cache" and not can_flush:
            raise web.HTTPNotFound
        if request.path.endswith("/chat/completions") and refuse(await request.json()):
            return web.json_response({"error": {"message": "unknown field"}}, status=400)
        return await handler(request)

    app = StubServer(model).app()
    app.middlewares.append(doors)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1_024).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def stub_request(url: str, *, store: Path | None = None, settings: SerialSettings | None = None,
                 **changes: Any) -> LiveRequest:  # fmt: skip
    load = load_shape("closed", SESSIONS, None, None)
    tokens = changes.pop("prompt_tokens", 900)
    spec = live_workload(load, source="builtin", prompt_tokens=tokens, overrides=SMALL)
    return small_request(
        url, model=MODEL, load=load, workload=spec, store=store, serial=settings or SerialSettings(16), **changes
    )


async def checked(model: RecallingEngine, *, store: Path | None = None, **doors: Any) -> LiveResult:
    asked = {name: doors.pop(name) for name in ("settings", "task", "limits", "prompt_tokens") if name in doors}
    async with serving(model, **doors) as url:
        return await LiveRun(stub_request(url, store=store, **asked)).run()
