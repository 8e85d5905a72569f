"""The watchdog at work: told of every request and byte of a run, asked again and again, and a run that hangs is ended.

Owns: when it is asked, what is written down of a silence, and when a run is given up: after twice the timeout, once the
requests that were open have been given up by their own read time-out and have their records, and after three times the
timeout whatever is open. Does not own: the rule (`watchdog.py`), the client. Floor 5. Source: ours.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from harness.live.liveness.record import Silence
from harness.live.liveness.watchdog import Watchdog
from harness.load.clock import Clock, yield_to_others
from harness.transport.contract import ChatRequest, Reply, Transport
from harness.transport.errors import EngineTimeout
from harness.transport.hang_up import HungUp

_TICKS: Final = 20
_TICK_NS_MAX: Final = 1_000_000_000
_TURNS_OF_DOUBT: Final = 12
"""Turns of the loop in which, where the loop itself was late, bytes are read that lie in the sockets, and requests come
to their end that were due."""
_SHOWN_MAX: Final = 12
_MOVING: Final = ("server_generated_tokens", "server_prompt_tokens", "server_computed_tokens")


class WatchedTransport:
    """Tells the watch when a request begins and ends."""

    def __init__(self, inner: Transport, watch: HangWatch) -> None:
        self._inner = inner
        self._watch = watch

    def __repr__(self) -> str:
        return f"WatchedTransport({self._inner!r})"

    async def close(self) -> None:
        await self._inner.close()

    async def chat(self, request: ChatRequest) -> Reply:
        self._watch.sent(request.request_id)
        try:
            reply = await self._inner.chat(request)
        except asyncio.CancelledError:
            self._watch.cut(request.request_id)
            raise
        self._watch.ended(request.request_id, by_silence=isinstance(reply.error, EngineTimeout | HungUp))
        return reply


class HangWatch:
    """timeout_s: 0 watches nothing. on_hang: told once, in a sentence, when the run should end.

    silences: each at least as long as the timeout; the last one may still go on.
    """

    def __init__(self, clock: Clock, timeout_s: float, on_hang: Callable[[str], None]) -> None:
        self.silences: list[Silence] = []
        self.watchdog = Watchdog()
        self._clock = clock
        self._timeout_ns = round(timeout_s * 1e9)
        self._on_hang = on_hang
        self._origin_ns = 0
        self._figures: Mapping[str, float] | None = None
        self._figures_then: Mapping[str, float] | None = None
        self._open_then: frozenset[str] = frozenset()
        self._is_quiet = self._is_cut = self._is_over = False

    def __repr__(self) -> str:
        return f"HangWatch({self.watchdog}, {len(self.silences)} silences)"

    def begin(self) -> None:
        """From now on times count."""
        self._origin_ns = self._clock.now_ns

    def sent(self, name: str) -> None:
        self.watchdog.sent(name, self._clock.now_ns)

    def ended(self, name: str, *, by_silence: bool) -> None:
        self.watchdog.ended(name, self._clock.now_ns, by_silence=by_silence)

    def cut(self, name: str) -> None:
        """A request that is cancelled says nothing of the server."""
        self._is_cut = True
        self.ended(name, by_silence=True)

    def sampled(self, figures: Mapping[str, float]) -> None:
        self._figures = figures

    async def run(self) -> None:
        """Until cancelled, or until a run had to be given up."""
        if not self._timeout_ns:
            return
        tick_ns = min(_TICK_NS_MAX, max(1, self._timeout_ns // _TICKS))
        while True:
            await self._clock.sleep_until(self._clock.now_ns + tick_ns, (), awake="watchdog")
            if self.watchdog.quiet_ns(self._clock.now_ns) >= self._timeout_ns:
                for _ in range(_TURNS_OF_DOUBT):
                    await yield_to_others()
            if self.look():
                return

    def look(self) -> bool:
        """What there is to see now; whether it is time to give up."""
        if not self._timeout_ns:
            return False
        now_ns = self._clock.now_ns
        quiet_ns = self.watchdog.quiet_ns(now_ns)
        if quiet_ns < self._timeout_ns:
            self._is_quiet = False
            # Counters are read once a second: what moved before the silence may be seen only in its first half.
            is_early = quiet_ns < self._timeout_ns // 2
            self._figures_then = None if is_early else self._figures_then or self._figures
            return False
        if not self._is_quiet:
            self._is_quiet = True
            self._open_then = frozenset(self.watchdog.open)
            self.silences.append(self._silence(now_ns, quiet_ns))
        self.silences[-1] = replace(self.silences[-1], lasted_s=round(quiet_ns / 1e9, 3), counters_moved=self._moved())
        are_waited_for = not self._open_then.isdisjoint(self.watchdog.open)
        if quiet_ns < (3 if are_waited_for else 2) * self._timeout_ns or self.silences[-1].counters_moved:
            return False
        self.silences[-1] = replace(self.silences[-1], is_hang=True)
        if not self._is_over:
            self._on_hang(self.silences[-1].short())
        return True

    def close(self) -> None:
        """The load is over. What was silent to its end, and not because it was cut short, hangs."""
        self._is_over = True
        self.look()
        if self._is_quiet and not self._is_cut:
            self.silences[-1] = replace(self.silences[-1], is_hang=True)

    def _silence(self, now_ns: int, quiet_ns: int) -> Silence:
        names = sorted(self.watchdog.open, key=lambda name: self.watchdog.open[name])
        at_s = (now_ns - self._origin_ns) / 1e9
        return Silence(
            self._timeout_ns / 1e9, round(at_s - quiet_ns / 1e9, 3), round(at_s, 3), 0.0, False, len(names),
            tuple(names[:_SHOWN_MAX]), None,
        )  # fmt: skip

    def _moved(self) -> bool | None:
        then, now = self._figures_then, self._figures
        if then is None or now is None:
            return None
        return any(now.get(name, 0.0) > then.get(name, 0.0) for name in _MOVING)


async def stopped(task: asyncio.Task[None]) -> None:
    """Cancel and wait. Raises: what the task raised before."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
