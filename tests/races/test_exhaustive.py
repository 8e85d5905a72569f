"""Exhaustive search against brute force: on random small programs both see the same set of endings.

Owns: `Exhaustive`, the collapse of steps. Floor: tests. Source: ours. The reference tries every choice at every step,
with no notion of conflicts, and without collapsing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.exhaustive import Exhaustive
from kernels.substrate.contract import HostProgram, Machine, Query, Region, Sleep, Until, Write
from tests.races.programs import POINT, pages

Ending = tuple[tuple[int, ...], tuple[int, ...], str]

HostMove = tuple[str, int, int]
"""What a host thread does: (act, stream, page or event)."""


def program_of(threads: list[list[HostMove]]) -> Program:
    """Two streams, two pages, two events; each thread makes its moves, one step each where it yields."""

    def program(machine: Machine) -> None:
        device = machine.buffer("pool", space="device:0", layer_count=1, page_count=2, page_bytes=64)
        streams = [machine.stream(name, device=0) for name in "ab"]
        events = [machine.event(name) for name in "ef"]
        versions = iter(range(1, 100))

        def run(moves: list[HostMove]) -> HostProgram:
            for act, stream, at in moves:
                region = Region(device, (0,), pages(at))
                if act == "write":
                    write = Write(region, np.array([next(versions)], dtype=np.int64))
                    streams[stream].launch("write", duration_ns=1, point=POINT, writes=(write,))
                elif act == "read":
                    streams[stream].launch("read", duration_ns=1, read_ns=1, point=POINT, reads=(region,))
                elif act == "copy":
                    other = Region(device, (0,), pages(1 - at))
                    streams[stream].copy(region, other, point="handoff", label="copy")
                elif act == "record":
                    streams[stream].record(events[at])
                elif act == "wait":
                    streams[stream].wait(events[at])
                elif act == "until":
                    yield Until(events[at])
                elif act == "skip unless done":
                    if not (yield Query(events[at])):
                        return
                else:
                    yield Sleep(1)

        for index, moves in enumerate(threads):
            machine.spawn(f"thread {index}", run(moves))

    return program


class _Forced:
    """Follows a prefix of choices, then takes the first; remembers how many there were."""

    def __init__(self, prefix: list[int]) -> None:
        self.name = "forced"
        self.widths: list[int] = []
        self._prefix = prefix

    def begin(self, run: Execution) -> None:
        self.widths = []

    def choose(self, run: Execution) -> int:
        at = len(self.widths)
        self.widths.append(len(run.runnable))
        return self._prefix[at] if at < len(self._prefix) else 0


def brute_force(plan: Plan, limit: int = 20_000) -> Iterator[Outcome]:
    prefix: list[int] = []
    for _ in range(limit):
        strategy = _Forced(prefix)
        outcome = Execution(plan).run(strategy)
        yield outcome
        chosen = outcome.choices
        while chosen and chosen[-1] == strategy.widths[len(chosen) - 1] - 1:
            chosen.pop()
        if not chosen:
            return
        chosen[-1] += 1
        prefix = list(chosen)
    raise AssertionError("the program is too large for brute force")


def ending(outcome: Outcome) -> Ending:
    return tuple(sorted(set(outcome.stale))), outcome.lost, outcome.error


class _Uncollapsed(Plan):
    """Every cell counts as shared, so nothing is merged."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.shared = -1


device_moves = st.tuples(
    st.sampled_from(["write", "read", "copy", "record", "wait"]), st.integers(0, 1), st.integers(0, 1)
)
host_moves = st.tuples(st.sampled_from(["until", "skip unless done", "sleep"]), st.just(0), st.integers(0, 1))


def check(threads: list[list[HostMove]]) -> None:
    program = program_of(threads)
    expected = {ending(outcome) for outcome in brute_force(_Uncollapsed(program))}
    search = Exhaustive(Plan(program))
    found = {ending(outcome) for outcome in search.outcomes()}
    assert search.is_over
    assert found == expected


@settings(max_examples=60)
@given(st.lists(st.one_of(device_moves, host_moves), max_size=7))
def test_one_thread(moves: list[HostMove]) -> None:
    check([moves])


@settings(max_examples=40)
@given(
    st.lists(st.one_of(device_moves, host_moves), max_size=4), st.lists(st.one_of(device_moves, host_moves), max_size=3)
)
def test_two_threads(first: list[HostMove], second: list[HostMove]) -> None:
    check([first, second])


def test_orders_of_independent_layers_multiply() -> None:
    """A copy in two steps and a read: three places for the read, in each layer for itself."""
    from tests.races.programs import ungated

    counts: list[int] = []
    make: Callable[[int], Program] = ungated
    for layer_count in (1, 2, 3):
        search = Exhaustive(Plan(make(layer_count)))
        counts.append(sum(1 for _ in search.outcomes()))
    assert counts == [3, 9, 27]


class _Patience:
    """A counter of polls that no local variable holds."""

    def __init__(self) -> None:
        self.polls = 0


def gives_up_after_three_polls(machine: Machine) -> None:
    """The host reads after three polls that said no; how often it polled stands in an object."""
    page = np.array([0], dtype=np.int64)
    pool = machine.buffer("pool", space="device:0", layer_count=1, page_count=1, page_bytes=8)
    load, compute, done = machine.stream("load", device=0), machine.stream("compute", device=0), machine.event("done")

    def host() -> HostProgram:
        patience = _Patience()
        load.launch("write", duration_ns=1, point="compute", writes=[Write(Region(pool, (0,), page), page + 1)])
        load.record(done)
        while not (yield Query(done)):
            patience.polls += 1
            if patience.polls == 3:
                break
        compute.launch("read", duration_ns=1, point="compute", reads=[Region(pool, (0,), page)])

    machine.spawn("host", host())


def test_poll_counter_in_an_object_is_seen() -> None:
    outcomes = list(Exhaustive(Plan(gives_up_after_three_polls)).outcomes())
    assert any(outcome.stale for outcome in outcomes)
    assert not all(outcome.has_failed for outcome in outcomes)
