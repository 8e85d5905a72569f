"""Links: one direction of a bus, shared by the copies on it.

Owns: rates and progress of transfers. Does not own: what a copy costs alone (`cost.py`), or whose pages the bytes are
(`landing.py`). Floor 1.

Every transfer has a *cap*, the rate that it reaches alone. A link gives each its cap where the sum fits, and otherwise
shares max-min fairly: no one gets more than its cap, and what a slow one leaves goes to the others. Where the opposite
direction of the same bus is busy too, both carry only their `duplex` share. Rates change when a transfer joins or
leaves, on either side, so progress is a piecewise straight line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Clock(Protocol):
    """The part of the machine that a link needs."""

    def at(self, time_ns: int, act: Callable[[Any], None], argument: Any) -> None: ...


class Transfer:
    """Bytes on their way over a link. `done` bytes had moved at `since_ns`; `rate` bytes a nanosecond since then."""

    __slots__ = ("byte_count", "cap", "done", "end_ns", "finished", "knot_done", "knot_ns", "rate", "since_ns")

    def __init__(self, byte_count: int, cap: float, begin_ns: int, finished: Callable[[int], None]) -> None:
        assert byte_count > 0, f"a transfer of {byte_count} bytes"
        assert cap > 0.0, f"a transfer that can move {cap} bytes a nanosecond"
        self.byte_count = byte_count
        self.cap = cap
        self.done = 0.0
        self.rate = 0.0
        self.since_ns = begin_ns
        self.end_ns = -1
        self.finished = finished
        # Where the rate changed so far: [n] times and the bytes that had moved by then.
        self.knot_ns: list[int] = [begin_ns]
        self.knot_done: list[float] = [0.0]

    def __repr__(self) -> str:
        return (
            f"Transfer({self.done:.0f}/{self.byte_count} B at {self.since_ns} ns, rate={self.rate:.3f} B/ns, "
            f"cap={self.cap:.3f} B/ns, end={self.end_ns} ns)"
        )

    def set_rate(self, rate: float, now_ns: int) -> None:
        """Settle what moved so far and go on at `rate`. Effect: `end_ns` is when it would end at that rate."""
        elapsed_ns = now_ns - self.since_ns
        if elapsed_ns > 0:
            self.done = min(self.done + self.rate * elapsed_ns, float(self.byte_count))
            self.since_ns = now_ns
            self.knot_ns.append(now_ns)
            self.knot_done.append(self.done)
        self.rate = rate
        self.end_ns = now_ns + math.ceil((self.byte_count - self.done) / rate)

    def page_times(self, page_count: int) -> NDArray[np.int64]:
        """[page_count + 1] int64: when each of that many equal parts begins to move, and when the last has moved.

        The part still to come is projected at the present rate.
        """
        steps = np.arange(page_count + 1, dtype=np.int64)
        begin_ns = self.knot_ns[0]
        if len(self.knot_ns) == 1:
            whole: NDArray[np.int64] = begin_ns + steps * (self.end_ns - begin_ns) // page_count
            return whole
        targets = steps * (self.byte_count / page_count)
        # The last knot is exact, so that the last page ends when the transfer does.
        times = np.interp(targets, [*self.knot_done, self.byte_count], [*self.knot_ns, self.end_ns])
        floored: NDArray[np.int64] = times.astype(np.int64)
        return floored


class Link:
    """One direction of a bus. `opposite` is the other direction, None where there is none that matters."""

    def __init__(self, name: str, capacity: float, clock: Clock, *, duplex: float = 1.0) -> None:
        self.name = name
        self.capacity = capacity
        self.duplex = duplex
        self.opposite: Link | None = None
        self.active: list[Transfer] = []
        self._clock = clock

    def __repr__(self) -> str:
        return f"Link({self.name}, {len(self.active)} active, {self.carried:.3f} B/ns of {self.capacity_now:.3f})"

    @property
    def carried(self) -> float:
        return sum(transfer.rate for transfer in self.active)

    @property
    def capacity_now(self) -> float:
        """Bytes a nanosecond that this direction carries at present."""
        is_shared = self.opposite is not None and bool(self.opposite.active)
        return self.capacity * self.duplex if is_shared else self.capacity

    def join(self, transfer: Transfer, now_ns: int) -> None:
        self.active.append(transfer)
        self._rebalance(now_ns)
        if self.opposite is not None and len(self.active) == 1 and self.opposite.active:
            self.opposite._rebalance(now_ns)

    def _leave(self, transfer: Transfer, now_ns: int) -> None:
        self.active.remove(transfer)
        if self.active:
            self._rebalance(now_ns)
        elif self.opposite is not None and self.opposite.active:
            self.opposite._rebalance(now_ns)

    def _rebalance(self, now_ns: int) -> None:
        rates = fair_rates([transfer.cap for transfer in self.active], self.capacity_now)
        for i, transfer in enumerate(self.active):
            if rates[i] != transfer.rate:
                transfer.set_rate(rates[i], now_ns)
                self._clock.at(transfer.end_ns, self._arrive, (transfer, transfer.end_ns))

    def _arrive(self, ticket: tuple[Transfer, int]) -> None:
        transfer, end_ns = ticket
        # A ticket from before a change of rate is void; of two that name one time only the first finds the transfer.
        if end_ns != transfer.end_ns or transfer not in self.active:
            return
        self._leave(transfer, end_ns)
        transfer.done = float(transfer.byte_count)
        transfer.finished(end_ns)


def fair_rates(caps: list[float], capacity: float) -> list[float]:
    """Max-min fair shares of `capacity`, none above its cap; [n] for caps [n]."""
    if len(caps) == 1:
        return [min(caps[0], capacity)]
    rates = [0.0] * len(caps)
    left = capacity
    # From the slowest up: each takes its cap or an equal share of what is left, whichever is less.
    for served, i in enumerate(sorted(range(len(caps)), key=lambda i: caps[i])):
        rates[i] = min(caps[i], left / (len(caps) - served))
        left -= rates[i]
    return rates
