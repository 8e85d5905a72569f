"""After the load: does the server still answer, and has it let go of everything?

Owns: the order and the waiting. Does not own: the request (`harness/live/preflight`), the gauges' names. Floor 5.
Source: facts/loadgen.md section 4; GRIEF's recovery probes. A server that survived a burst of aborts may hold their
requests for ever, which nobody sees until it is full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import orjson

from harness.live.liveness.record import Asked, Recovery
from harness.live.metric_names import RUNNING, WAITING
from harness.live.preflight import EXPECTED_ARGUMENTS
from harness.load.clock import Clock
from harness.transport.contract import Reply

_LOOK_AGAIN_NS = 500_000_000


@dataclass(frozen=True, slots=True)
class RecoverySettings:
    """wait_s: before the second request, and at most for the gauges to come down. patience_s: for one answer."""

    wait_s: float = 2.0
    patience_s: float = 30.0


@dataclass(frozen=True, slots=True, eq=False)
class Recoverer:
    """ask: one small request with a known answer. sample: the server's figures now. first: those before the run."""

    ask: Callable[[], Awaitable[Reply]]
    sample: Callable[[], Awaitable[Mapping[str, float] | None]]
    first: Mapping[str, float] | None
    clock: Clock
    settings: RecoverySettings

    async def run(self) -> Recovery:
        begin_ns = self.clock.now_ns
        asked = [await self._ask(begin_ns)]
        await self._sleep(self.settings.wait_s)
        asked.append(await self._ask(begin_ns))
        running, waiting = await self._settled()
        return Recovery(tuple(asked), running, waiting)

    async def _ask(self, begin_ns: int) -> Asked:
        sent_ns = self.clock.now_ns
        asking = asyncio.ensure_future(self.ask())
        patience = asyncio.ensure_future(self._sleep(self.settings.patience_s))
        try:
            await asyncio.wait((asking, patience), return_when=asyncio.FIRST_COMPLETED)
            took_s = round((self.clock.now_ns - sent_ns) / 1e9, 3)
            after_s = round((sent_ns - begin_ns) / 1e9, 3)
            if not asking.done():
                return Asked(after_s, took_s, False, False, f"no whole answer within {self.settings.patience_s:g} s")
            reply = asking.result()
        finally:
            for task in (asking, patience):
                task.cancel()
            await asyncio.wait((asking, patience))
        if reply.error is not None:
            return Asked(after_s, took_s, False, False, str(reply.error))
        return Asked(after_s, took_s, True, _is_right(reply), f"finish reason {reply.finish_reason}")

    async def _settled(self) -> tuple[int | None, int | None]:
        """What is left in the gauges, as soon as that is nothing, or once there was time enough."""
        until_ns = self.clock.now_ns + round(self.settings.wait_s * 1e9)
        while True:
            figures = await self.sample()
            left = (self._more(figures, RUNNING), self._more(figures, WAITING))
            if not any(left) or self.clock.now_ns >= until_ns:
                return left
            await self.clock.sleep_until(self.clock.now_ns + _LOOK_AGAIN_NS, (), awake="recovery")

    def _more(self, figures: Mapping[str, float] | None, name: str) -> int | None:
        """Than before the run: somebody else may use the server, too."""
        if figures is None or name not in figures:
            return None
        return max(0, round(figures[name] - (self.first or {}).get(name, 0.0)))

    async def _sleep(self, seconds: float) -> None:
        await self.clock.sleep_until(self.clock.now_ns + round(seconds * 1e9), (), awake="recovery")


def _is_right(reply: Reply) -> bool:
    if not reply.tool_calls:
        return False
    try:
        return bool(orjson.loads(reply.tool_calls[0].arguments) == EXPECTED_ARGUMENTS)
    except orjson.JSONDecodeError:
        return False
