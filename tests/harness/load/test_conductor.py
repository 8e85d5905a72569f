"""The conductor without any socket: order, stillness, and what it says when time cannot move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from harness.load.clock import yield_to_others
from harness.load.conductor import Conductor, DeadlockError, StalledError

pytestmark = pytest.mark.asyncio


@dataclass(slots=True)
class Script:
    """A machine whose events are given: time -> what happens then."""

    events: dict[int, Callable[[], None]] = field(default_factory=dict)
    now_ns: int = 0
    is_interrupted: bool = False

    def next_time_ns(self) -> int | None:
        return min(self.events, default=None)

    def advance_to(self, time_ns: int) -> None:
        self.is_interrupted = False
        while (due_ns := self.next_time_ns()) is not None and due_ns <= time_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.events.pop(due_ns)()
            if self.is_interrupted:
                return
        self.now_ns = time_ns

    def interrupt(self) -> None:
        self.is_interrupted = True


@dataclass(slots=True)
class Sleepers:
    """Participants that sleep at given times and note when they woke."""

    conductor: Conductor
    woken: list[tuple[str, int]] = field(default_factory=list)

    async def sleeper(self, name: str, order: tuple[int, ...], *times_ns: int) -> None:
        try:
            for time_ns in times_ns:
                await self.conductor.sleep_until(time_ns, order, awake=name)
                self.woken.append((name, self.conductor.now_ns))
        finally:
            self.conductor.leave(name)


async def test_sleepers_wake_by_time_and_then_by_order() -> None:
    conductor = Conductor(Script())
    sleepers = Sleepers(conductor)
    for name in "abc":
        conductor.join(name)
    await asyncio.gather(
        sleepers.sleeper("a", (2,), 50, 90),
        sleepers.sleeper("b", (1,), 50, 70),
        sleepers.sleeper("c", (3,), 10),
        conductor.run(),
    )
    assert sleepers.woken == [("c", 10), ("b", 50), ("a", 50), ("b", 70), ("a", 90)]


async def test_arrivals_of_one_instant_are_delivered_in_order_and_only_when_nothing_is_held() -> None:
    conductor = Conductor(Script())
    conductor.join("client")
    conductor.hold("request")
    delivered: list[int] = []
    run = asyncio.ensure_future(conductor.run())
    for number in (3, 1, 2):
        conductor.submit((number,), lambda number=number: delivered.append(number))  # type: ignore[misc]
        await yield_to_others()
    assert delivered == []
    conductor.release("request")
    await yield_to_others()
    assert delivered == [], "the client is still awake"
    conductor.leave("client")
    await run
    assert delivered == [1, 2, 3]


async def test_hold_during_an_advance_stops_it_at_that_instant() -> None:
    machine = Script()
    conductor = Conductor(machine)
    seen: list[int] = []
    machine.events = {20: lambda: conductor.hold("reply"), 30: lambda: seen.append(machine.now_ns)}
    sleepers = Sleepers(conductor)
    conductor.join("a")
    tasks = asyncio.gather(sleepers.sleeper("a", (1,), 100), conductor.run())
    for _ in range(5):
        await yield_to_others()
    assert (conductor.now_ns, seen) == (20, [])
    conductor.release("reply")
    await tasks
    assert seen == [30]
    assert sleepers.woken == [("a", 100)]


async def test_submission_from_an_event_happens_in_that_instant() -> None:
    machine = Script()
    conductor = Conductor(machine)
    delivered_ns: list[int] = []
    machine.events = {20: lambda: conductor.submit((1,), lambda: delivered_ns.append(machine.now_ns))}
    sleepers = Sleepers(conductor)
    conductor.join("a")
    await asyncio.gather(sleepers.sleeper("a", (1,), 100), conductor.run())
    assert delivered_ns == [20]


async def test_holding_and_releasing_twice_is_harmless() -> None:
    conductor = Conductor(Script())
    for _ in range(2):
        conductor.hold("key")
    conductor.release("key")
    assert not conductor.is_held("key")
    conductor.release("key")
    conductor.release("never held")
    await conductor.run()


async def test_deadlock_is_told_with_the_state() -> None:
    conductor = Conductor(Script(now_ns=7))
    conductor.join("s0004/awake")
    # It waits for an engine that has nothing to do.
    conductor.release("s0004/awake")
    with pytest.raises(DeadlockError, match=r"now_ns=7.*unfinished=\['s0004/awake'\].*next event=None"):
        await conductor.run()


async def test_machine_that_only_ticks_is_a_deadlock_too() -> None:
    machine = Script()

    def tick() -> None:
        machine.events[machine.now_ns + 500_000_000] = tick

    machine.events = {0: tick}
    conductor = Conductor(machine)
    conductor.join("a")
    conductor.release("a")
    with pytest.raises(DeadlockError, match="cannot move"):
        await conductor.run()


async def test_machine_that_does_not_advance_is_named() -> None:
    class Lazy(Script):
        def advance_to(self, time_ns: int) -> None:
            self.now_ns = time_ns

    conductor = Conductor(Lazy(events={5: lambda: None}))
    conductor.join("a")
    conductor.release("a")
    with pytest.raises(AssertionError, match="left an event at 5"):
        await conductor.run()


async def test_watchdog_names_the_keys_that_stick() -> None:
    conductor = Conductor(Script(), watchdog_s=0.01)
    conductor.hold("s0001-t02/decode")
    conductor.hold("s0001-t02/prefill")
    with pytest.raises(StalledError, match="s0001-t02/decode, s0001-t02/prefill") as caught:
        await conductor.run()
    assert caught.value.exit_code == 3
    assert caught.value.keys == ("s0001-t02/decode", "s0001-t02/prefill")


async def test_cancelled_sleeper_is_not_held_for() -> None:
    conductor = Conductor(Script())
    sleepers = Sleepers(conductor)
    for name in "ab":
        conductor.join(name)
    gone = asyncio.ensure_future(sleepers.sleeper("a", (1,), 50))
    stays = asyncio.ensure_future(sleepers.sleeper("b", (2,), 60))
    await yield_to_others()
    gone.cancel()
    await yield_to_others()
    await conductor.run()
    await stays
    assert sleepers.woken == [("b", 60)]


async def test_cancelled_run_can_be_taken_up_again() -> None:
    conductor = Conductor(Script())
    sleepers = Sleepers(conductor)
    conductor.join("a")
    conductor.hold("key")
    sleeper = asyncio.ensure_future(sleepers.sleeper("a", (1,), 50))
    run = asyncio.ensure_future(conductor.run())
    for _ in range(3):
        await yield_to_others()
    run.cancel()
    await asyncio.wait([run])
    conductor.release("key")
    await asyncio.gather(conductor.run(), sleeper)
    assert sleepers.woken == [("a", 50)]


async def test_state_is_shown() -> None:
    conductor = Conductor(Script(now_ns=3))
    conductor.hold("x")
    assert "now_ns=3, held=['x']" in repr(conductor)
