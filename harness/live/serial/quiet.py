"""A quiet server and a cache without the load's pages, as far as the server lets a client have them.

Owns: waiting until nobody else is served, emptying the cache, and a salt where it cannot be emptied. Does not own: what
that means for a verdict (`results/serial`). Floor 5. Source: `/flush_cache` is SGLang's, `/reset_prefix_cache` vLLM's;
`cache_salt` is a field of both: prompts with different salts share no page.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Final

import aiohttp

from harness.live.scrape import read_metrics
from harness.live.serial.settings import QUIET_S_MAX
from harness.load.clock import Clock
from harness.transport.contract import TransportOptions
from harness.transport.own_origin import session_beside

FLUSH_PATHS: Final = ("/flush_cache", "/reset_prefix_cache")
_RUNNING: Final = "server_running"
_EVERY_NS: Final = 250_000_000
_SECONDS: Final = 10.0


class QuietServer:
    """`async with QuietServer(...)`: one server between two passes."""

    def __init__(self, options: TransportOptions, metrics_urls: Sequence[str], clock: Clock) -> None:
        self._options = options
        self._urls = tuple(metrics_urls)
        self._clock = clock
        self._session: aiohttp.ClientSession | None = None
        self._flush_path: str | None = None

    def __repr__(self) -> str:
        return f"QuietServer({self._options.base_url}, flushed by {self._flush_path})"

    async def __aenter__(self) -> QuietServer:
        self._session = session_beside(self._options, total_s=_SECONDS)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def wait(self) -> tuple[bool, str]:
        """Whether it is quiet, as far as anybody can tell, and by what that is known."""
        assert self._session is not None
        until_ns = self._clock.now_ns + round(QUIET_S_MAX * 1e9)
        while True:
            found, note = await read_metrics(self._session, self._urls)
            if found is None or _RUNNING not in found:
                why = note or "the server's metrics do not tell"
                return True, f"none of ours was in work; whether others were is not known ({why})"
            if found[_RUNNING] == 0:
                return True, "the server's own gauge told no running request"
            if self._clock.now_ns >= until_ns:
                running = f"{found[_RUNNING]:,.0f} requests of others were still running"
                return False, f"{running} after {QUIET_S_MAX:g} s"
            await self._clock.sleep_until(self._clock.now_ns + _EVERY_NS, (), awake="quiet")

    async def flush(self) -> bool:
        """Whether the cache was emptied. Effect: it is, where the server has an endpoint for that and is quiet."""
        assert self._session is not None
        root = self._options.base_url.removesuffix("/v1")
        for path in FLUSH_PATHS if self._flush_path is None else (self._flush_path,):
            try:
                async with self._session.post(root + path) as response:
                    await response.read()
            except (aiohttp.ClientError, TimeoutError):
                continue
            if response.status == 200:
                self._flush_path = path
                return True
        return False
