"""A loop whose time jumps to the next timer, a clock on it, and a server that takes as long as it is told.

Owns: virtual time for sessions that need no sockets, and the log of what was sent. Does not own: any assertion.
Floor: tests. Source: ours; nothing of the product's own virtual time is used, so it can judge what is built on that.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.config import load_scenario
from harness.live.arrivals import LoadShape, load_shape
from harness.live.driving import Driver, DriverSettings
from harness.live.limits import TokenBudget
from harness.live.load.behaviour import Behaviour
from harness.live.rounds import Rounds
from harness.load.clock import Order
from harness.load.workload.planned import PlannedSession, PlannedWorkload
from harness.transport.contract import ChatRequest, Reply, Stamps
from harness.transport.errors import EngineError
from harness.transport.hang_up import HungUp
from results.records import TurnRecord

MS = 1_000_000


class _Jumping(selectors.SelectSelector):
    """Never waits: what would be waited for is added to the time."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0.0)
        if not found and timeout is None:
            # A thread is at work (the next round's workload); it wakes the loop up.
            return super().select(None)
        if not found and timeout is not None and timeout > 0:
            # A little more than asked for, as real timers are, so that rounding does not ask again.
            self.now_s += timeout + 1e-9
        return found


class InstantLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now_s


def instantly(work: Coroutine[Any, Any, Any]) -> None:
    with asyncio.Runner(loop_factory=InstantLoop) as runner:
        runner.run(work)


class InstantClock:
    """`harness.load.clock.Clock` on the loop's time."""

    is_virtual = False

    @property
    def now_ns(self) -> int:
        return round(asyncio.get_running_loop().time() * 1e9)

    def join(self, awake: str) -> None: ...

    def leave(self, awake: str) -> None: ...

    def hold(self, key: str) -> None: ...

    def release(self, key: str) -> None: ...

    async def sleep_until(self, time_ns: int, order: Order, *, awake: str) -> None:
        await asyncio.sleep(max(0.0, (time_ns - self.now_ns) / 1e9))

    async def run(self) -> None: ...


@dataclass(slots=True)
class InstantServer:
    """A transport. log: (milliseconds, request id) of every request. open_max: at once.

    first_s, whole_s: until the first and the last piece of a reply. pieces: of text, evenly between the two.
    errors: request id -> what becomes of it.
    """

    first_s: float = 0.01
    whole_s: float = 0.02
    pieces: int = 3
    errors: Mapping[str, EngineError] = field(default_factory=dict)
    slow: Callable[[str], float] = lambda _: 1.0
    log: list[tuple[int, str]] = field(default_factory=list)
    open_max: int = 0
    open_now: int = 0

    @property
    def order(self) -> list[str]:
        return [name for _, name in self.log]

    async def close(self) -> None: ...

    async def chat(self, request: ChatRequest) -> Reply:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        self.log.append((round(begin * 1e3), request.request_id))
        self.open_now += 1
        self.open_max = max(self.open_max, self.open_now)
        factor = self.slow(request.request_id)
        step = (self.whole_s - self.first_s) / max(1, self.pieces - 1)
        at = [begin + factor * (self.first_s + step * number) for number in range(self.pieces)]
        policy, error = request.hang_up, self.errors.get(request.request_id)
        if policy is not None and policy.after_s is not None and policy.after_s < factor * self.first_s:
            error, at = HungUp(policy.phase), []
            await asyncio.sleep(policy.after_s)
        elif policy is not None and policy.pieces is not None and policy.pieces <= len(at):
            error, at = HungUp(policy.phase), at[: policy.pieces]
        if at:
            await asyncio.sleep(at[-1] - begin)
        self.open_now -= 1
        stamps = [round(one * 1e9) for one in at]
        return Reply(
            status=200, content="", reasoning="", tool_calls=(), finish_reason=None if error else "stop", usage=None,
            error=error, arrived=Stamps(stamps[0] if stamps else None, round(loop.time() * 1e9)),
            stamped=Stamps(None, None), served_as=None, quirks=(), raw=None, text_ns=tuple(stamps),
        )  # fmt: skip


@dataclass(slots=True)
class Driven:
    """What a driven load left. turns: as the run would mark them. sessions: of later rounds too."""

    turns: list[TurnRecord] = field(default_factory=list)
    rounds: list[PlannedWorkload] = field(default_factory=list)
    ended_by: str | None = None


def drive(
    plans: Sequence[PlannedSession],
    server: InstantServer,
    shape: LoadShape | None = None,
    *,
    rounds: Rounds | None = None,
    seed: int = 5,
) -> Driven:
    """Run the driver over these plans, in no time."""
    load = load_shape("closed", len(plans), None, None) if shape is None else shape
    driven = Driven()

    async def whole() -> None:
        clock = InstantClock()
        behaviour = Behaviour(load, plans, seed, clock)
        driver = Driver(
            plans, behaviour.over(server), clock, settings=DriverSettings("m", 16, load), pace=behaviour.pace,
            rounds=rounds if rounds is not None else no_rounds(), budget=TokenBudget(10**9),
            on_more=driven.rounds.append, on_turn=lambda turn, _: driven.turns.append(behaviour.marker.marked(turn)),
            on_progress=lambda _: None,
        )  # fmt: skip
        await driver.run()
        driven.ended_by = driver.ended_by

    instantly(whole())
    return driven


def no_rounds() -> Rounds:
    return Rounds(load_scenario("off_bf16").workload, 0, len)
