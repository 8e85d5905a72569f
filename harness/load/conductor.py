"""Virtual time over real sockets: it moves only while everybody is asleep or waits inside an engine.

Owns: the set of busy keys, the sleepers, the arrivals of the current instant, and when the simulated machine may
advance. Does not own: the machine's events (`TimeSource`), or what a key means (`names.py`).
Floor 5. Source: facts/feasibility.md (the prototype of the conductor); the rest is ours.

Why a run is bit-identical whatever the sockets do: bytes travel only while a key is held, so they travel within one
virtual instant; what they bring (arrivals) is collected until nothing is held any more, sorted, and only then
delivered. Keys are names in a set, never a count: holding or releasing twice is harmless, and a key that sticks can
be named.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from harness.load.clock import Order, TimeSource, yield_to_others
from kernels.errors import EnvironmentProblem

_STRIDE_NS: Final = 1_000_000_000
_IDLE_STRIDES_MAX: Final = 3_600
"""A machine that ticks by itself for this many strides, with every session waiting in it, will never answer."""


class DeadlockError(AssertionError):
    """Our own bug: time cannot move, nobody is awake, and yet somebody has not finished."""


class StalledError(EnvironmentProblem):
    """Keys stayed held for a long real time: a process in between has swallowed a request or its end."""

    def __init__(self, keys: tuple[str, ...], *, waited_s: float, state: str) -> None:
        self.keys = keys
        self.waited_s = waited_s
        shown = ", ".join(keys[:12]) + (f" and {len(keys) - 12} more" if len(keys) > 12 else "")
        super().__init__(
            f"virtual time has been held still for {waited_s:g} s by: {shown} [{state}]",
            remedy="look for a router or proxy in between that does not pass a request or the end of a reply on",
        )


@dataclass(frozen=True, slots=True, order=True)
class _Sleeper:
    time_ns: int
    order: Order
    ticket: int
    """Breaks ties of equal orders by who lay down first; deterministic only if the orders differ."""
    awake: str = field(compare=False)
    wakes: asyncio.Future[None] = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Arrival:
    order: Order
    deliver: Callable[[], None]


class Conductor:
    """Drives one `TimeSource`; is both the clients' `Clock` and the servers' `Gate`.

    watchdog_s: real time without any change of the held keys after which `StalledError` names them.
    """

    def __init__(self, source: TimeSource, *, watchdog_s: float = 30.0) -> None:
        self._source = source
        self._watchdog_s = watchdog_s
        self._held: set[str] = set()
        self._participants: set[str] = set()
        self._sleepers: list[_Sleeper] = []
        self._arrivals: list[_Arrival] = []
        self._changes = 0
        self._tickets = 0
        self._idle_strides = 0
        self._is_advancing = False
        self._quiet: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        return f"Conductor({self._state()})"

    @property
    def is_virtual(self) -> bool:
        return True

    @property
    def now_ns(self) -> int:
        return self._source.now_ns

    def hold(self, key: str) -> None:
        """Keep virtual time still until `key` is released. During an advance: stop it after the current event."""
        if key in self._held:
            return
        self._held.add(key)
        self._changes += 1
        if self._is_advancing:
            self._source.interrupt()

    def release(self, key: str) -> None:
        if key not in self._held:
            return
        self._held.discard(key)
        self._changes += 1
        if not self._held and self._quiet is not None and not self._quiet.done():
            self._quiet.set_result(None)

    def is_held(self, key: str) -> bool:
        return key in self._held

    def join(self, awake: str) -> None:
        self._participants.add(awake)
        self.hold(awake)

    def leave(self, awake: str) -> None:
        self._participants.discard(awake)
        self.release(awake)

    async def sleep_until(self, time_ns: int, order: Order, *, awake: str) -> None:
        """Sleep on the virtual clock; the conductor holds `awake` again in the instant it wakes the caller."""
        self._tickets += 1
        wakes = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, _Sleeper(time_ns, order, self._tickets, awake, wakes))
        self.release(awake)
        await wakes

    def submit(self, order: Order, deliver: Callable[[], None]) -> None:
        """Something reached a server: it happens at the current instant, once nothing is held, in `order`."""
        self._arrivals.append(_Arrival(order, deliver))
        if self._is_advancing:
            self._source.interrupt()

    async def run(self) -> None:
        """Move virtual time until every participant has left.

        Raises: DeadlockError, StalledError. Cancelling it is safe: nothing is half done between two awaits.
        """
        while True:
            await self._nothing_held()
            if self._arrivals:
                self._deliver_arrivals()
            elif self._wake_due_sleepers():
                continue
            elif not self._participants:
                return
            else:
                self._advance()
                # Handlers may have chunks to write although no reply has ended; and a Ctrl-C wants to be heard.
                await yield_to_others()

    async def _nothing_held(self) -> None:
        while self._held:
            changes = self._changes
            self._quiet = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(self._watchdog_s):
                    await self._quiet
            except TimeoutError:
                if changes == self._changes:
                    raise StalledError(
                        tuple(sorted(self._held)), waited_s=self._watchdog_s, state=self._state()
                    ) from None
            finally:
                self._quiet = None

    def _deliver_arrivals(self) -> None:
        arrivals, self._arrivals = sorted(self._arrivals, key=lambda arrival: arrival.order), []
        for arrival in arrivals:
            arrival.deliver()

    def _wake_due_sleepers(self) -> bool:
        woken = False
        while self._sleepers and (self._sleepers[0].wakes.done() or self._sleepers[0].time_ns <= self.now_ns):
            sleeper = heapq.heappop(self._sleepers)
            # A sleeper whose task was cancelled has a finished future; its key must not be held for nobody.
            if not sleeper.wakes.done():
                self.hold(sleeper.awake)
                sleeper.wakes.set_result(None)
                woken = True
        return woken

    def _advance(self) -> None:
        event_ns = self._source.next_time_ns()
        if self._sleepers:
            target_ns = max(self._sleepers[0].time_ns, self.now_ns)
            self._idle_strides = 0
        elif event_ns is not None and self._idle_strides < _IDLE_STRIDES_MAX:
            # Nobody sleeps, so nothing but the end of a reply can matter, and that interrupts at its own instant.
            target_ns = max(event_ns, self.now_ns) + _STRIDE_NS
            self._idle_strides += 1
        else:
            raise DeadlockError(f"virtual time cannot move: {self._state()}")
        self._is_advancing = True
        try:
            self._source.advance_to(target_ns)
        finally:
            self._is_advancing = False
        if self._held or self._arrivals:
            self._idle_strides = 0
            return
        left_ns = self._source.next_time_ns()
        assert left_ns is None or left_ns > target_ns, f"advance_to({target_ns}) left an event at {left_ns}"
        assert self.now_ns == target_ns, f"advance_to({target_ns}) stands at {self.now_ns}"

    def _state(self) -> str:
        sleepers = ", ".join(f"{sleeper.awake} until {sleeper.time_ns}" for sleeper in sorted(self._sleepers)[:8])
        return (
            f"now_ns={self.now_ns}, held={sorted(self._held)[:12]}, unfinished={sorted(self._participants)[:12]} "
            f"({len(self._participants)}), asleep=[{sleepers}] ({len(self._sleepers)}), "
            f"arrivals={len(self._arrivals)}, next event={self._source.next_time_ns()}"
        )
