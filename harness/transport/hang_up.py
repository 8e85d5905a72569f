"""Hanging up on purpose: a client that closes its connection in the middle of a request, as users do all day.

Owns: when that is, and the doing of it for clients that are libraries. Does not own: whose request it is
(`harness/live/load/churn.py`), or sockets. Floor 5. Source: facts/bugs.md section 5 item 6 and B08, B26, B33 (pages
freed, or handed on, while a hung-up request is still being filled).

A client cannot see a server's queue or its prefill. It sees whether text has come, and the time since it asked.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal

from harness.transport.errors import EngineError

HangUpPhase = Literal["queued", "prefill", "first-token", "mid-answer"]
HANG_UP_PHASES: Final[tuple[HangUpPhase, ...]] = ("queued", "prefill", "first-token", "mid-answer")


@dataclass(frozen=True, slots=True)
class HangUp:
    """Either `after_s` since the request was sent, unless text has come by then; or as soon as `pieces` of text have.

    A reply that is past the moment before it comes, or ends before it, is read to its end like any other.
    """

    phase: HangUpPhase
    after_s: float | None = None
    pieces: int | None = None

    def __post_init__(self) -> None:
        assert (self.after_s is None) != (self.pieces is None), self
        assert self.pieces is None or self.pieces >= 1, self


class HungUp(EngineError):
    """Our own client closed the connection, as it was told to. The server did nothing wrong."""

    def __init__(self, phase: HangUpPhase) -> None:
        self.phase = phase
        super().__init__(f"hung up on purpose ({phase})")


class Leaving:
    """`async with Leaving(policy) as leaving`: cancels what runs inside, and raises HungUp, when it is time to go.

    For clients whose exchange is one await after the other: their own clean-up closes the connection.
    """

    def __init__(self, policy: HangUp | None) -> None:
        self._policy = policy
        self._timeout: asyncio.Timeout | None = None
        if policy is not None and policy.after_s is not None:
            self._timeout = asyncio.timeout(None)

    def __repr__(self) -> str:
        return f"Leaving({self._policy})"

    async def __aenter__(self) -> Leaving:
        if self._timeout is not None:
            await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timeout is None or self._policy is None:
            return
        try:
            await self._timeout.__aexit__(kind, problem, trace)
        except TimeoutError:
            raise HungUp(self._policy.phase) from None

    def was_sent(self) -> None:
        """The request, or another part of it, has been written: the time counts from now."""
        if self._timeout is None or self._timeout.expired():
            return
        assert self._policy is not None and self._policy.after_s is not None
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._policy.after_s)

    def text_came(self, pieces: int) -> None:
        """Told how many pieces of text there are so far. Raises: HungUp."""
        if self._policy is None or not pieces:
            return
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(None)
        if self._policy.pieces is not None and pieces >= self._policy.pieces:
            raise HungUp(self._policy.phase)
