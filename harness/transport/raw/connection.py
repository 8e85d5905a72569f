"""One keep-alive connection: a request goes out, its answer's bytes are stamped as they come in.

Owns: the socket's life for one exchange after another, silence, and the end of an answer. Does not own: which
connection serves whom (`pool.py`), what keep-alive is (`keep_alive.py`), or what the bytes mean. Floor 5. Source:
facts/loadgen.md section 3 (what a chunk costs: no await and no timer for each, one stamp before anything else).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

from harness.transport.hang_up import HangUpPhase
from harness.transport.keep_alive import KeepAlive
from harness.transport.raw.http_response import MalformedResponse, ResponseParser
from harness.transport.raw.leaving import EarlyLeave
from harness.transport.reply import ANSWER_BYTES_MAX

_TURNS_OF_DOUBT: Final = 2
"""Turns of the loop until everything that was readable at the first of them has been read."""


class Silence(Exception):
    """Nothing but keep-alive came for as long as the client is willing to wait."""


class Lost(Exception):
    """The connection ended before its answer did."""


class Oversized(Exception):
    """The answer is larger than any sound one."""


class Left(Exception):
    """We have gone on purpose."""

    def __init__(self, phase: HangUpPhase) -> None:
        self.phase = phase
        super().__init__(phase)


ExchangeFault = Silence | Lost | Oversized | Left | MalformedResponse


@dataclass(slots=True, eq=False)
class Exchange:
    """One request's answer as it came. pieces: (when it arrived, body bytes). fault: why it did not come to its end.

    was_answered: whether any byte came at all; only then can the server be known to have seen the request.
    """

    response: ResponseParser = field(default_factory=ResponseParser)
    keep_alive: KeepAlive = field(default_factory=KeepAlive)
    pieces: list[tuple[int, bytes]] = field(default_factory=list)
    size_bytes: int = 0
    fault: ExchangeFault | None = None
    was_answered: bool = False
    is_over: bool = False
    ended_ns: int = 0


class Connection(asyncio.Protocol):
    """now_ns: stamps arrivals. on_gone: told once when the connection is of no use any more. on_bytes: of each arrival,
    with what of it is body."""

    def __init__(
        self,
        now_ns: Callable[[], int],
        on_gone: Callable[[Connection], None],
        on_bytes: Callable[[bytes], None] | None = None,
    ) -> None:
        self.was_used = False
        self._now_ns = now_ns
        self._on_gone = on_gone
        self._on_bytes = on_bytes
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._done: asyncio.Future[None] | None = None
        self._silence: asyncio.Handle | None = None
        self._leave: EarlyLeave | None = None
        self._leaving: asyncio.TimerHandle | None = None
        self._last_s = 0.0

    def __repr__(self) -> str:
        return f"Connection(open={self.is_open}, exchange={self._exchange})"

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, *, silence_s: float | None, leave: EarlyLeave | None = None) -> Exchange:
        """Send and wait for the whole answer; what went wrong is in it. A cancelled exchange breaks the connection."""
        assert self._transport is not None and self._exchange is None, self
        exchange = self._exchange = Exchange()
        self._done = self._loop.create_future()
        self._last_s = self._loop.time()
        self._transport.write(request)
        self._leave = leave
        if leave is not None and leave.policy.after_s is not None:
            self._leaving = self._loop.call_later(leave.policy.after_s, self._leave_early)
        if silence_s is not None:
            self._silence = self._loop.call_later(silence_s, self._check_silence, silence_s)
        try:
            await self._done
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            self.was_used = True
            self._exchange = self._leave = None
            for timer in (self._silence, self._leaving):
                if timer is not None:
                    timer.cancel()
        return exchange

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio's, and do the same.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        now_ns = self._now_ns()
        exchange = self._exchange
        if exchange is None or exchange.is_over:
            # Nobody asked: the next answer on this connection could be this one's rest.
            self.abort()
            return
        response = exchange.response
        had_head = response.has_head
        exchange.was_answered = True
        try:
            body = response.feed(data)
        except MalformedResponse as problem:
            self._end(problem, now_ns)
            return
        if self._on_bytes is not None:
            self._on_bytes(body)
        if not exchange.keep_alive.is_all(body) or not had_head:
            # Silence is real time, whatever clock stamps the bytes.
            self._last_s = self._loop.time()
        if body:
            exchange.pieces.append((now_ns, body))
            exchange.size_bytes += len(body)
            if exchange.size_bytes > ANSWER_BYTES_MAX:
                self._end(Oversized(), now_ns)
                return
        if response.is_complete:
            self._end(None, now_ns)
        elif self._leave is not None and self._leave.is_due(body, now_ns):
            self._end(Left(self._leave.policy.phase), now_ns)

    def eof_received(self) -> None:
        # The transport closes itself then, and `connection_lost` follows.
        return

    def connection_lost(self, problem: Exception | None) -> None:
        exchange = self._exchange
        if exchange is not None and not exchange.is_over:
            is_whole = problem is None and exchange.response.has_head and exchange.response.close()
            reason = str(problem) if problem is not None and str(problem) else exchange.response.missing()
            self._end(None if is_whole else Lost(reason), self._now_ns())
        self._on_gone(self)

    def _leave_early(self) -> None:
        assert self._leave is not None
        if self._exchange is not None and not self._exchange.is_over and not self._leave.has_text:
            self._end(Left(self._leave.policy.phase), self._now_ns())

    def _check_silence(self, limit_s: float, doubts: int = _TURNS_OF_DOUBT) -> None:
        left_s = limit_s - (self._loop.time() - self._last_s)
        if left_s > 0:
            self._silence = self._loop.call_later(left_s, self._check_silence, limit_s)
        elif doubts:
            # Where this loop was late itself, bytes may lie in the socket: let it read them first.
            self._silence = self._loop.call_soon(self._check_silence, limit_s, doubts - 1)
        else:
            self._end(Silence(), self._now_ns())

    def _end(self, fault: ExchangeFault | None, now_ns: int) -> None:
        exchange, done = self._exchange, self._done
        assert exchange is not None and done is not None
        exchange.fault, exchange.ended_ns, exchange.is_over = fault, now_ns, True
        if fault is not None or not exchange.response.is_reusable or exchange.response.has_excess:
            self.abort()
        if not done.done():
            done.set_result(None)
