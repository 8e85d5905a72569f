"""A client that stays away when the server asks for it: 429, and 503 with Retry-After.

Owns: pauses, which all sessions share, and how often a turn is tried. Does not own: sending. Floor 5.
Source: RFC 6585 section 4, RFC 9110 section 10.2.3. A turn that was tried three times has one record all the same, and
its latency counts from the intended time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from harness.load.clock import Clock
from harness.transport.contract import ChatRequest, Reply, Transport
from harness.transport.errors import EngineProtocolError

TRIES_MAX: Final = 6
PAUSE_S_MAX: Final = 120.0
_FIRST_PAUSE_S: Final = 1.0
_BUSY: Final = 429
_UNAVAILABLE: Final = 503


class PatientTransport:
    """on_hopeless: told the sentence when the server asks for a longer pause than anybody waits.

    pauses: how often a server asked for one. rng: spreads the sessions that come back from one.
    """

    def __init__(
        self, inner: Transport, clock: Clock, rng: np.random.Generator, on_hopeless: Callable[[str], None]
    ) -> None:
        self.pauses = 0
        self._inner = inner
        self._clock = clock
        self._rng = rng
        self._on_hopeless = on_hopeless
        self._not_before_ns = 0

    def __repr__(self) -> str:
        return f"PatientTransport({self._inner!r}, {self.pauses} pauses)"

    async def close(self) -> None:
        await self._inner.close()

    async def chat(self, request: ChatRequest) -> Reply:
        for attempt in range(1, TRIES_MAX + 1):
            await self._wait(request.request_id)
            reply = await self._inner.chat(request)
            wait_s = _asked_pause_s(reply, attempt)
            if wait_s is None or attempt == TRIES_MAX:
                return reply
            self.pauses += 1
            if wait_s > PAUSE_S_MAX:
                self._on_hopeless(f"the server asks its clients to stay away for {wait_s:,.0f} s")
                return reply
            self._not_before_ns = max(self._not_before_ns, self._clock.now_ns + round(wait_s * 1e9))
        raise AssertionError("the last try returns")

    async def _wait(self, name: str) -> None:
        while (left_ns := self._not_before_ns - self._clock.now_ns) > 0:
            spread_ns = round(left_ns * float(self._rng.random()) / 4)
            await self._clock.sleep_until(self._clock.now_ns + left_ns + spread_ns, (), awake=name)


def _asked_pause_s(reply: Reply, attempt: int) -> float | None:
    error = reply.error
    if not isinstance(error, EngineProtocolError) or error.fault != "http_status":
        return None
    if error.status == _BUSY:
        return error.retry_after_s if error.retry_after_s is not None else _FIRST_PAUSE_S * 2 ** (attempt - 1)
    return error.retry_after_s if error.status == _UNAVAILABLE else None
