"""Host threads on the virtual machine: clocks, costs of calls, wakes, interruption. Times by hand."""

from __future__ import annotations

import pytest

from kernels.substrate.contract import HostProgram, Park, Query, Sleep, SleepUntil, Until
from kernels.substrate.delays import parse_delay
from kernels.substrate.trace import MemoryTrace
from kernels.substrate.virtual.machine import VirtualMachine
from tests.substrate.plain import plain_cost, plain_machine, region


def test_calls_cost_host_time_and_work_starts_when_its_call_is_over() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=3.5, host__event=1.0), trace=trace)
    stream, event = machine.stream("s", device=0), machine.event("e")

    def program() -> HostProgram:
        stream.launch("first", duration_ns=100, point="compute.layer")
        stream.launch("second", duration_ns=100, point="compute.layer")
        stream.record(event)
        yield Until(event)
        stream.launch("third", duration_ns=100, point="compute.layer")
        yield Sleep(10)

    machine.spawn("host", program())
    machine.run()
    times = [(row.label, row.issue_ns, row.start_ns, row.end_ns) for row in trace.operations]
    # The stream runs dry: each kernel waits for its host call. The third is issued after the record at 8,000.
    assert times == [
        ("first", 3_500, 3_500, 3_600),
        ("second", 7_000, 7_000, 7_100),
        ("e", 8_000, 8_000, 8_000),
        ("third", 11_500, 11_500, 11_600),
    ]
    assert trace.steps[-1].kind == "exit"
    assert trace.steps[-1].time_ns == 11_510


def test_set_up_work_costs_no_host_time() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=3.5), trace=trace)
    stream = machine.stream("s", device=0)
    stream.launch("first", duration_ns=100, point="compute.layer")
    stream.launch("second", duration_ns=100, point="compute.layer")
    assert [(row.thread, row.issue_ns, row.start_ns) for row in trace.operations] == [
        ("outside", 0, 0),
        ("outside", 0, 100),
    ]


def test_sleeps_count_from_the_threads_own_clock() -> None:
    machine = plain_machine(plain_cost(host__enqueue=5.0))
    stream, clocks = machine.stream("s", device=0), [0]

    def program() -> HostProgram:
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        yield Sleep(1_000)
        clocks.append(machine.now_ns)
        yield SleepUntil(10_000)
        clocks.append(machine.now_ns)
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        yield SleepUntil(10_002)
        clocks.append(machine.now_ns)

    machine.spawn("host", program())
    machine.run()
    # The last sleep is over before the thread's own clock, which the launch took to 15,000.
    assert clocks == [0, 6_000, 10_000, 15_000]


def test_a_sleep_at_a_point_takes_the_delay_of_that_point() -> None:
    delays = [parse_delay("host.schedule=constant:2us")]
    machine = plain_machine(delays=delays)

    def program() -> HostProgram:
        yield Sleep(500, point="host.schedule")
        yield Sleep(500)

    machine.spawn("host", program())
    machine.run()
    assert machine.now_ns == 3_000


def wakes_and_parks(machine: VirtualMachine, trace: MemoryTrace) -> list[tuple[str, int, tuple[int, ...]]]:
    machine.run()
    return [(step.kind, step.time_ns, step.wakes) for step in trace.steps if step.kind in ("wake", "park")]


def test_a_wake_reaches_the_parked_thread_at_the_wakers_clock() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=5.0), trace=trace)
    stream = machine.stream("s", device=0)

    def sleeper() -> HostProgram:
        yield Park()

    def waker() -> HostProgram:
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        thread.wake()
        yield Sleep(0)

    thread = machine.spawn("sleeper", sleeper())
    machine.spawn("waker", waker())
    assert wakes_and_parks(machine, trace) == [("wake", 5_000, (1,)), ("park", 5_000, (1,))]


def test_an_earlier_wake_overtakes_a_later_one_and_both_count() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=5.0), trace=trace)
    stream = machine.stream("s", device=0)

    def sleeper() -> HostProgram:
        yield Park()
        yield Park()

    def late_waker() -> HostProgram:
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        thread.wake()
        yield Sleep(0)

    def early_waker() -> HostProgram:
        yield Sleep(100)
        thread.wake()

    thread = machine.spawn("sleeper", sleeper())
    machine.spawn("late", late_waker())
    machine.spawn("early", early_waker())
    assert wakes_and_parks(machine, trace) == [
        ("wake", 5_000, (1,)),
        ("wake", 100, (2,)),
        ("park", 100, (2,)),
        ("park", 5_000, (1,)),
    ]


def test_a_wake_that_was_overtaken_does_not_end_a_later_park_early() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=5.0), trace=trace)
    stream = machine.stream("s", device=0)

    def sleeper() -> HostProgram:
        yield Park()
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        yield Park()

    def late_waker() -> HostProgram:
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        thread.wake()
        yield Sleep(0)

    def early_waker() -> HostProgram:
        yield Sleep(100)
        thread.wake()

    thread = machine.spawn("sleeper", sleeper())
    machine.spawn("late", late_waker())
    machine.spawn("early", early_waker())
    # The wake of 5,000 finds the thread busy until 5,100, and ends its next park there.
    assert [row for row in wakes_and_parks(machine, trace) if row[0] == "park"] == [
        ("park", 100, (2,)),
        ("park", 5_100, (1,)),
    ]


def test_an_end_that_is_known_but_lies_ahead_is_not_over() -> None:
    machine = plain_machine()
    stream, event = machine.stream("s", device=0), machine.event("e")
    answers: list[bool | None] = []

    def program() -> HostProgram:
        stream.launch("kernel", duration_ns=1_000, point="compute.layer")
        stream.record(event)
        for time_ns in (0, 999, 1_000):
            yield SleepUntil(time_ns)
            answers.append((yield Query(event)))

    machine.spawn("host", program())
    machine.run()
    assert answers == [False, False, True]


def test_until_does_not_turn_the_threads_clock_back() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=5.0), trace=trace)
    stream, event = machine.stream("s", device=0), machine.event("e")
    stream.record(event)

    def program() -> HostProgram:
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        yield Until(event)

    machine.spawn("host", program())
    machine.run()
    assert [(step.kind, step.time_ns) for step in trace.steps] == [("spawn", 0), ("until", 5_000), ("exit", 5_000)]


def test_wakes_before_one_park_are_one_wake() -> None:
    trace = MemoryTrace()
    machine = plain_machine(trace=trace)

    def sleeper() -> HostProgram:
        yield Sleep(50)
        yield Park()
        yield Park()

    thread = machine.spawn("sleeper", sleeper())
    thread.wake()
    thread.wake()
    assert wakes_and_parks(machine, trace) == [("wake", 0, (1,)), ("wake", 0, (2,)), ("park", 50, (1, 2))]
    assert machine.blocked() == ["sleeper waits for a wake"]


def test_interrupt_ends_the_advance_after_the_current_instant() -> None:
    machine = plain_machine()
    steps: list[tuple[str, int]] = []

    def program(name: str, is_interrupting: bool) -> HostProgram:
        yield Sleep(100)
        steps.append((name, machine.now_ns))
        if is_interrupting:
            machine.interrupt()
        yield Sleep(100)
        steps.append((name, machine.now_ns))

    machine.spawn("a", program("a", is_interrupting=True))
    machine.spawn("b", program("b", is_interrupting=False))
    machine.advance_to(1_000)
    assert steps == [("a", 100), ("b", 100)]
    assert machine.now_ns == 100
    assert machine.next_time_ns() == 200
    machine.advance_to(150)
    assert (machine.now_ns, len(steps)) == (150, 2)
    machine.advance_to(1_000)
    assert (machine.now_ns, steps[2:]) == (1_000, [("a", 200), ("b", 200)])
    assert machine.next_time_ns() is None


def test_time_does_not_go_back() -> None:
    machine = plain_machine()
    machine.advance_to(10)
    with pytest.raises(AssertionError, match="cannot go back to 9 ns"):
        machine.advance_to(9)


def test_a_thread_started_by_a_thread_starts_at_its_clock() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=5.0), trace=trace)
    stream = machine.stream("s", device=0)
    started: list[int] = []

    def child() -> HostProgram:
        started.append(machine.now_ns)
        yield Sleep(0)

    def parent() -> HostProgram:
        stream.launch("kernel", duration_ns=1, point="compute.layer")
        machine.spawn("child", child())
        yield Sleep(0)

    machine.spawn("parent", parent())
    machine.run()
    assert started == [5_000]
    spawns = [(step.thread, step.other, step.time_ns) for step in trace.steps if step.kind == "spawn"]
    assert spawns == [("outside", "parent", 0), ("parent", "child", 5_000)]


def test_what_is_unfinished_can_be_told() -> None:
    machine = plain_machine(delays=[parse_delay("h2d.c4=constant:1ms")])
    loaded, never_called = machine.event("loaded"), machine.event("never called")
    load = machine.stream("load", device=0)
    host = machine.buffer("host", space="host", layer_count=1, page_count=1, page_bytes=1)
    device = machine.buffer("device", space="device:0", layer_count=1, page_count=1, page_bytes=1)

    def program() -> HostProgram:
        load.copy(region(host, [0]), region(device, [0]), point="h2d.c4", label="the copy")
        load.record(loaded)
        yield Until(loaded)
        yield Until(never_called)
        yield Park()

    machine.spawn("thread", program())
    machine.advance_to(500_000)
    assert machine.blocked() == ["load stands at the copy", "thread waits for event loaded"]
    machine.run()
    assert machine.blocked() == ["thread waits for a wake"]
