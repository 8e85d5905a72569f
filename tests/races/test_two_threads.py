"""Two host threads, one of which ends: what the other does then could have come before, and a token must say so.

Owns: that exhaustive search is not fooled by a thread's end, and that minimised tokens replay. Floor: tests.
Source: ours; both were wrong once, and "exhausted: clean" was printed over a race.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.search.explore import explore
from kernels.races.search.replay import replay
from kernels.races.strategies.random_walk import RandomWalk
from kernels.substrate.contract import HostProgram, Machine, Region, Sleep

PAGE = np.array([0], dtype=np.int64)


def records_late(machine: Machine, *, says_when_recorded: bool) -> None:
    """One thread copies and reads; the other records in between, and ends."""
    host = machine.buffer("host", space="host", layer_count=1, page_count=1, page_bytes=64)
    device = machine.buffer("device", space="device:0", layer_count=1, page_count=1, page_bytes=64)
    load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    loaded = machine.event("loaded")
    is_recorded: list[bool] = []

    def recorder() -> HostProgram:
        yield Sleep(1)
        load.record(loaded)
        is_recorded.append(True)

    def reader() -> HostProgram:
        load.copy(Region(host, (0,), PAGE), Region(device, (0,), PAGE), point="h2d", label="load")
        machine.spawn("recorder", recorder())
        yield Sleep(1)
        if is_recorded or not says_when_recorded:
            compute.wait(loaded)
            compute.launch("read", duration_ns=1, read_ns=1, point="compute", reads=[Region(device, (0,), PAGE)])

    machine.spawn("reader", reader())


def late(machine: Machine) -> None:
    records_late(machine, says_when_recorded=False)


def in_time(machine: Machine) -> None:
    records_late(machine, says_when_recorded=True)


def test_chance_finds_the_failure() -> None:
    """The independent witness: some random schedules read early, so a search that says `clean` is wrong."""
    plan = Plan(late)
    outcomes = [Execution(plan).run(RandomWalk(seed)) for seed in range(200)]
    assert 0 < sum(bool(outcome.stale) for outcome in outcomes) < 200


def test_exhaustive_search_finds_it_too_and_its_token_replays() -> None:
    result = explore(late, "exhaustive", budget=200, mend_schedules=50)
    assert result.exhausted
    (report,) = result.races
    assert report.is_confirmed
    assert report.token is not None
    assert replay(late, str(report.token)).outcome.stale


@pytest.mark.parametrize("strategy", ["exhaustive", "random"])
def test_every_failure_has_a_token_that_fails(strategy: str) -> None:
    result = explore(late, strategy, budget=100, mend_schedules=0)
    assert result.failures
    assert all(replay(late, str(failure.token)).outcome.has_failed for failure in result.failures)


def test_the_twin_that_reads_when_it_is_recorded_is_clean() -> None:
    explore(in_time, "exhaustive", budget=200, mend_schedules=0).assert_clean()
