"""A server of completions that is sound, or wrong in one known way, and holds its requests until they have met.

Owns: what the peers' clients ask for. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from aiohttp import web

Behaviour = Literal["sound", "shifts", "forgets", "repeatable", "one at a time"]
"""shifts: log-probabilities move with the batch. forgets: a prompt that comes again is answered wrongly. repeatable: in
a batch the answer is wrong, and always the same."""


@dataclass(slots=True)
class SmallServer:
    behaviour: Behaviour
    running: int = 0
    seen: set[str] = field(default_factory=set)
    requests: int = 0
    resets: int = 0
    _turnstile: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/v1/completions", self._complete)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/get_server_info", self._info)
        app.router.add_post("/reset_prefix_cache", self._reset)
        return app

    async def _complete(self, request: web.Request) -> web.Response:
        prompt = str((await request.json())["prompt"])
        self.requests += 1
        if self.behaviour == "one at a time":
            async with self._turnstile:
                return await self._answered(prompt)
        return await self._answered(prompt)

    async def _answered(self, prompt: str) -> web.Response:
        self.running += 1
        try:
            # Turns of the loop, and no time: in so many of them all requests of a burst arrive, and are seen together.
            has_met = False
            for _ in range(200):
                await asyncio.sleep(0)
                has_met |= self.running > 1
            return web.json_response(self._reply(prompt, has_met=has_met))
        finally:
            self.running -= 1

    def _reply(self, prompt: str, *, has_met: bool) -> dict[str, Any]:
        text = f"right {len(prompt)}"
        if self.behaviour == "forgets" and prompt in self.seen:
            text = f"wrong {self.requests}"
        if self.behaviour == "repeatable" and has_met:
            text = "wrong"
        self.seen.add(prompt)
        logprob = -0.5 - (0.01 * self.requests if self.behaviour == "shifts" else 0.0)
        logprobs = {
            "tokens": [text],
            "token_logprobs": [logprob],
            "top_logprobs": [{text: logprob}],
            "text_offset": [0],
        }
        return {"choices": [{"index": 0, "text": text, "logprobs": logprobs, "finish_reason": "stop"}]}

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(text=f'vllm:num_requests_running{{engine="0"}} {self.running}\n')

    async def _info(self, request: web.Request) -> web.Response:
        return web.json_response({"page_size": 8})

    async def _reset(self, request: web.Request) -> web.Response:
        self.seen.clear()
        self.resets += 1
        return web.Response()


@asynccontextmanager
async def small_server(behaviour: Behaviour) -> AsyncIterator[tuple[str, SmallServer]]:
    server = SmallServer(behaviour)
    runner = web.AppRunner(server.app(), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}", server
    finally:
        await runner.cleanup()
