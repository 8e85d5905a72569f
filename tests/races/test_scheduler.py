"""The machine without time: what is a step, what is torn, what the host sees, and what is remembered of it.

Owns: steps, script, execution, strategies. Floor: tests. Source: DESIGN.md section 2; facts/concurrency.md section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernels.races.scheduler.cells import halves, mask
from kernels.races.scheduler.execution import Execution, Strategy
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import ProgramFailed
from kernels.races.search.exhaustive import Exhaustive
from kernels.races.search.portfolio import Profile
from kernels.races.strategies.issue_order import Constraint, IssueOrder, OpRef
from kernels.races.strategies.pct import Pct
from kernels.races.strategies.pos import Pos
from kernels.races.strategies.random_walk import RandomWalk
from kernels.races.strategies.surw import Surw
from kernels.substrate.contract import HostProgram, Machine, PageView, Park, Region, Sleep, Until
from tests.races import programs
from tests.races.programs import POINT, load, pages, pools, read, write


def hit_rate(plan: Plan, strategy: Strategy, trials: int = 300) -> float:
    return sum(Execution(plan).run(strategy).has_failed for _ in range(trials)) / trials


def chained(machine: Machine) -> None:
    """60 kernels that nobody else can notice, then a read that lacks its wait."""
    host, device = pools(machine, 4)
    loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    for layer in range(4):
        load(loading, host, device, layer)
    own = machine.buffer("own", space="device:0", layer_count=1, page_count=1, page_bytes=64)
    for version in range(1, 61):
        write(compute, Region(own, (0,), pages(0)), version)
    read(compute, device, 3)


def test_what_nobody_can_notice_is_collapsed() -> None:
    plan = Plan(chained)
    steps = [step for stream in plan.steps(plan.script.root) for step in stream]
    compute = [step for step in steps if step.stream == 1]
    assert len(compute) == 1, "60 own kernels and the read are one step"
    assert len(compute[0].finished) == 61
    assert len([step for step in steps if step.stream == 0]) == 2, "three copies merge into the one that is read"


def test_random_walk_hits_behind_a_chain_because_of_the_collapse() -> None:
    """Without it: 0 of 3,000 (facts/concurrency.md section 3a)."""
    assert hit_rate(Plan(chained), RandomWalk(1)) > 0.5


@pytest.mark.parametrize(
    ("strategy", "low", "high"),
    [(Pct(1, 1, 40), 0.42, 0.58), (RandomWalk(1), 0.97, 1.0), (Pos(1), 0.85, 1.0)],
)
def test_hit_rates_of_the_ungated_program(strategy: Strategy, low: float, high: float) -> None:
    """PCT with one priority order hits exactly when the reader outranks the loader."""
    assert low <= hit_rate(Plan(programs.ungated(20)), strategy) <= high


def test_surw_on_the_racing_cells_needs_no_luck_with_the_rest() -> None:
    plan = Plan(programs.last_ungated(20))
    racing = mask(halves(plan.script.cells.of_pages("device.k", 19, [0])))
    counts = Profile(plan).counts(racing)
    assert counts == {0: 2, 1: 1}
    assert hit_rate(plan, Surw(1, racing, counts)) > 0.3


def test_torn_pages_are_reachable() -> None:
    torn: list[bool] = []

    def program(machine: Machine) -> None:
        host, device = pools(machine, 1)
        loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
        back = Region(device, (0,), pages(0))
        write(loading, back, 1)
        loading.copy(back, Region(host, (0,), pages(0)), point="d2h.backup", label="backup")
        write(loading, back, 2)
        load(loading, host, device, 0)

        def body(views: Sequence[PageView]) -> None:
            (view,) = views
            torn.append(bool((view.head != view.tail).any()))
            assert view.wanted.tolist() == [[1]]

        compute.launch("read", duration_ns=1, read_ns=1, point=POINT, reads=(back,), body=body)

    assert sum(1 for _ in Exhaustive(Plan(program)).outcomes()) >= 5
    assert set(torn) == {True, False}


def test_wait_binds_to_the_record_that_is_current_when_it_is_issued() -> None:
    def program(machine: Machine) -> None:
        host, device = pools(machine, 2)
        loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
        done = machine.event("done")
        load(loading, host, device, 0)
        loading.record(done)
        compute.wait(done)
        load(loading, host, device, 1)
        loading.record(done)
        read(compute, device, 0)
        read(compute, device, 1)

    held = Constraint(OpRef(1, 3), OpRef(0, 3))
    outcome = Execution(Plan(program)).run(IssueOrder((held,)))
    assert [Plan(program).script.label_of(ordinal) for ordinal in outcome.stale] == ["read[layer 1]"]


def test_wait_for_an_event_that_was_never_recorded_holds_nothing_up() -> None:
    def program(machine: Machine) -> None:
        stream, never = machine.stream("compute", device=0), machine.event("never")
        own = machine.buffer("own", space="device:0", layer_count=1, page_count=1, page_bytes=64)
        stream.wait(never)
        write(stream, Region(own, (0,), pages(0)), 1)

        def main() -> HostProgram:
            yield Until(never)

        machine.spawn("main", main())

    assert not Execution(Plan(program)).run(IssueOrder()).has_failed


def test_wake_that_came_early_is_not_lost_and_a_park_for_ever_is_no_failure() -> None:
    seen: list[str] = []

    def program(machine: Machine) -> None:
        def sleeper() -> HostProgram:
            yield Sleep(1)
            yield Park()
            seen.append("woken")
            yield Park()

        thread = machine.spawn("sleeper", sleeper())
        thread.wake()

    outcome = Execution(Plan(program)).run(IssueOrder())
    assert seen == ["woken"]
    assert not outcome.has_failed


def test_host_that_looks_at_memory_is_told_apart_by_what_it_saw() -> None:
    """`landed` is an input like any other: each thing it can show is a branch of the script."""
    seen: set[int] = set()

    def program(machine: Machine) -> None:
        device = machine.buffer("pool", space="device:0", layer_count=1, page_count=1, page_bytes=64)
        region = Region(device, (0,), pages(0))
        streams = [machine.stream(name, device=0) for name in "ab"]

        def main() -> HostProgram:
            write(streams[0], region, 1)
            write(streams[1], region, 2)
            yield Sleep(1)
            seen.add(int(machine.landed(region)[0, 0]))

        def other() -> HostProgram:
            yield Sleep(1)

        machine.spawn("main", main())
        machine.spawn("other", other())

    for outcome in Exhaustive(Plan(program)).outcomes():
        assert outcome.kinds in ((), ("lost",))
    assert seen == {0, 1, 2}


def test_program_runs_once_for_all_schedules_where_its_host_has_no_choice() -> None:
    plan = Plan(programs.ungated(10))
    hit_rate(plan, RandomWalk(1))
    assert plan.script.live_runs == 1


def test_a_body_that_issues_more_to_its_own_stream() -> None:
    """The stream goes on with it, once, and another one may come between."""

    def program(machine: Machine) -> None:
        _, device = pools(machine, 3)
        compute, other = machine.stream("compute", device=0), machine.stream("other", device=0)
        layers = [Region(device, (layer,), pages(0)) for layer in range(3)]

        def body(views: Sequence[PageView]) -> None:
            assert len(views) == 1
            read(compute, device, 1)
            write(compute, layers[2], 5)

        compute.launch("first", duration_ns=1, read_ns=1, point=POINT, reads=(layers[0],), body=body)
        write(other, layers[1], 3)
        read(other, device, 2)

    plan, walk = Plan(program), RandomWalk(1)
    outcomes = [Execution(plan).run(walk) for _ in range(50)]
    assert not any(outcome.stuck or outcome.lost or outcome.error for outcome in outcomes)
    # Two steps of each stream: the read of layer 1 may come before its write, the write of layer 2 before its read.
    assert {outcome.has_failed for outcome in outcomes} == {True, False}
    assert {len(outcome.stale) for outcome in Exhaustive(plan).outcomes()} == {0, 1, 2}


def test_undeclared_access_is_named() -> None:
    def program(machine: Machine) -> None:
        _, device = pools(machine, 1)
        read(machine.stream("compute", device=0), device, 3)

    with pytest.raises(ProgramFailed, match=r"device\.k has no layer 3: undeclared access"):
        Plan(program)


def test_two_writers_leave_wrong_bytes_behind() -> None:
    def program(machine: Machine) -> None:
        device = machine.buffer("pool", space="device:0", layer_count=1, page_count=1, page_bytes=64)
        for version, name in enumerate("ab", start=1):
            write(machine.stream(name, device=0), Region(device, (0,), pages(0)), version)

    outcomes = [outcome.kinds for outcome in Exhaustive(Plan(program)).outcomes()]
    assert sorted(outcomes) == [(), ("lost",)]


def test_issue_order_lets_threads_take_turns() -> None:
    turns: list[int] = []

    def program(machine: Machine) -> None:
        def run(own: int) -> HostProgram:
            for _ in range(3):
                yield Sleep(1)
                turns.append(own)

        for index in range(2):
            machine.spawn(f"thread {index}", run(index))

    Execution(Plan(program)).run(IssueOrder())
    assert sorted(turns) == [0, 0, 0, 1, 1, 1]
    assert np.abs(np.diff(turns)).sum() >= 3
