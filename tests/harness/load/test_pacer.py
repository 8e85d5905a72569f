"""The wall-clock side of the servers, with a clock that the test turns."""

from __future__ import annotations

import asyncio

import pytest

from harness.load.clock import WallClock, yield_to_others
from harness.load.pacer import Pacer
from tests.harness.fake_machine import FakeMachine

pytestmark = pytest.mark.asyncio


class TurnedClock(WallClock):
    """Real in type, turned by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.time_ns = 0

    @property
    def now_ns(self) -> int:
        return self.time_ns


async def _turns() -> None:
    for _ in range(10):
        await yield_to_others()


async def test_events_are_processed_when_the_clock_has_reached_them_and_arrivals_meet_the_present() -> None:
    machine, clock = FakeMachine(), TurnedClock()
    seen: list[tuple[str, int]] = []
    machine.at(1_000, lambda: seen.append(("event", machine.now_ns)))
    machine.at(3_000_000_000, lambda: seen.append(("later", machine.now_ns)))
    pacer = Pacer(machine, clock=clock, speed=2.0)
    clock.time_ns = 5_000
    run = asyncio.ensure_future(pacer.run())
    await _turns()
    assert seen == [("event", 1_000)]
    pacer.submit((2,), lambda: seen.append(("second", machine.now_ns)))
    pacer.submit((1,), lambda: seen.append(("first", machine.now_ns)))
    assert seen == [("event", 1_000)], "an arrival never re-enters the engine from the caller"
    await _turns()
    run.cancel()
    await asyncio.wait([run])
    assert seen[1:] == [("first", 10_000), ("second", 10_000)]


async def test_keys_mean_nothing() -> None:
    pacer = Pacer(FakeMachine(), clock=TurnedClock())
    pacer.hold("key")
    assert not pacer.is_held("key")
    pacer.release("key")
    assert not pacer.is_virtual


async def test_time_starts_where_the_machine_stands() -> None:
    machine, clock = FakeMachine(), TurnedClock()
    machine.now_ns, clock.time_ns = 500, 9_000
    pacer = Pacer(machine, clock=clock)
    assert pacer.now_ns == 500
    clock.time_ns = 9_100
    assert pacer.now_ns == 600


async def test_machine_that_never_catches_up_does_not_starve_arrivals() -> None:
    machine, clock = FakeMachine(), TurnedClock()
    delivered_ns: list[int] = []

    def slow() -> None:
        clock.time_ns += 20
        machine.at(machine.now_ns + 10, slow)

    slow()
    pacer = Pacer(machine, clock=clock)
    run = asyncio.ensure_future(pacer.run())
    await _turns()
    pacer.submit((1,), lambda: delivered_ns.append(machine.now_ns))
    for _ in range(50):
        await _turns()
    run.cancel()
    await asyncio.wait([run])
    assert len(delivered_ns) == 1


async def test_arrival_waits_for_a_bounded_number_of_events_however_far_the_machine_is_behind() -> None:
    """A worker that polls for a half which never comes is such a machine: it has always something to do."""
    machine, clock = FakeMachine(), TurnedClock()
    polls, delivered_after = 0, []

    def poll() -> None:
        nonlocal polls
        polls += 1
        machine.at(machine.now_ns + 10, poll)

    poll()
    pacer = Pacer(machine, clock=clock)
    clock.time_ns = 1_000_000
    run = asyncio.ensure_future(pacer.run())
    await _turns()
    pacer.submit((1,), lambda: delivered_after.append(polls))
    for _ in range(100):
        await _turns()
    run.cancel()
    await asyncio.wait([run])
    assert len(delivered_after) == 1
    assert delivered_after[0] < 300
    assert polls > 500, "the machine has gone on catching up"
