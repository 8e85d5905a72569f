"""Branches of the host's code: each is judged for order, and one that shares more cells makes the search start again.

Owns: what `explore` does about answers of queries. Floor: tests. Source: ours.
"""

from __future__ import annotations

import numpy as np

from kernels.races import Answer, explore
from kernels.substrate.contract import HostProgram, Machine, Query, Region, Write
from tests.races.programs import POINT, pages, pools


def asks(machine: Machine, *, always_waits: bool) -> None:
    """Two streams write the same bytes; the second waits only where the host was told that the first is over."""
    _, device = pools(machine, 1)
    target = Region(device, (0,), pages(0))
    write = Write(target, np.array([5], dtype=np.int64))
    one, other = machine.stream("one", device=0), machine.stream("other", device=0)
    done = machine.event("done[0]")

    def host() -> HostProgram:
        one.launch("first", duration_ns=10, point=POINT, writes=(write,))
        one.record(done)
        is_over = yield Query(done)
        if is_over or always_waits:
            other.wait(done)
        other.launch("second", duration_ns=10, point=POINT, writes=(write,))

    machine.spawn("host", host())


def test_race_of_a_branch_is_named_though_no_byte_is_ever_wrong() -> None:
    result = explore(lambda machine: asks(machine, always_waits=False), budget=100, mend_schedules=20)
    assert (result.exhausted, result.failures) == (True, [])
    (report,) = result.races
    assert (report.group.shown.race.kind, report.is_confirmed) == ("write-write", False)
    assert report.group.shown.mend.event == "done[0]"


def test_twin_that_waits_in_both_branches_is_clean() -> None:
    assert explore(lambda machine: asks(machine, always_waits=True), budget=100).answer is Answer.CLEAN


def test_failure_of_a_branch_that_shares_more_is_minimised_and_replayed() -> None:
    """Only where the first answer is no does the second stream touch the page: steps that were one become two."""

    def program(machine: Machine) -> None:
        host_pool, device = pools(machine, 1, page_count=2)
        load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
        done = machine.event("done[0]")
        both = Region(device, (0,), pages(0, 1))

        def host() -> HostProgram:
            load.copy(Region(host_pool, (0,), pages(0, 1)), both, point=POINT, label="load")
            load.record(done)
            if (yield Query(done)):
                compute.wait(done)
            compute.launch("read", duration_ns=10, read_ns=10, point=POINT, reads=(both,))
            raise AssertionError("the host gives up")

        machine.spawn("host", host())

    result = explore(program, budget=200, mend_schedules=20)
    assert result.exhausted
    assert {failure.outcome.error for failure in result.failures} == {"the host gives up"}
