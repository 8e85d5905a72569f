"""The contract test: what holds on every substrate (DESIGN.md section 2). Order and bytes only, never times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from kernels.substrate.contract import (
    Buffer,
    Event,
    HostProgram,
    PageView,
    Park,
    Query,
    Region,
    Sleep,
    Stream,
    Until,
)
from tests.substrate.conftest import SLOW_POINT, Rig
from tests.substrate.plain import fill_host, landed, region, write

PAGES = (0, 1, 2, 3, 4, 5, 6, 7)
NEW = 7


@dataclass
class Bench:
    """Two streams, a host pool that holds NEW, an empty device pool, and what readers saw."""

    rig: Rig
    load: Stream
    compute: Stream
    source: Region
    target: Region
    event: Event
    seen: list[tuple[str, PageView]] = field(default_factory=list)

    def copy(self, point: str = SLOW_POINT) -> None:
        self.load.copy(self.source, self.target, point=point, label="load")

    def read(self, name: str = "read", stream: Stream | None = None) -> None:
        def body(views: Sequence[PageView]) -> None:
            self.seen.extend((name, view) for view in views)

        (stream or self.compute).launch(
            name, duration_ns=1_000, read_ns=1_000, point="compute.indexer", reads=[self.target], body=body
        )

    def is_fresh(self, name: str = "read") -> bool:
        (view,) = [view for who, view in self.seen if who == name]
        return not view.stale.any()


@pytest.fixture
def bench(rig: Rig) -> Bench:
    machine = rig.machine
    host = machine.buffer("host", space="host", layer_count=1, page_count=len(PAGES), page_bytes=rig.page_bytes)
    fill_host(machine, host, NEW, rig.settle)
    pool: Buffer = machine.buffer(
        "pool", space="device:0", layer_count=1, page_count=len(PAGES), page_bytes=rig.page_bytes
    )
    load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    return Bench(rig, load, compute, region(host, PAGES), region(pool, PAGES), machine.event("loaded"))


def test_work_of_one_stream_is_first_in_first_out(bench: Bench) -> None:
    order: list[int] = []
    for number in range(5):

        def body(views: Sequence[PageView], number: int = number) -> None:
            assert not views
            order.append(number)

        bench.compute.launch(f"kernel {number}", duration_ns=1_000 - number, point="compute.layer", body=body)
    bench.copy()
    bench.read("same stream", bench.load)
    bench.rig.settle()
    assert order == [0, 1, 2, 3, 4]
    assert bench.is_fresh("same stream")


def test_streams_are_unordered_without_an_event(bench: Bench) -> None:
    bench.copy()
    bench.read()
    bench.rig.settle()
    assert not bench.is_fresh()
    assert landed(bench.rig.machine, bench.target) == [NEW] * len(PAGES)


def test_a_wait_orders_what_follows_after_the_record(bench: Bench) -> None:
    bench.copy()
    bench.load.record(bench.event)
    bench.compute.wait(bench.event)
    bench.read()
    bench.rig.settle()
    assert bench.is_fresh()


def test_a_wait_on_an_event_never_recorded_is_a_no_op(bench: Bench) -> None:
    bench.compute.wait(bench.event)
    bench.copy()
    bench.load.record(bench.event)
    bench.read()
    bench.rig.settle()
    assert not bench.is_fresh()


def test_a_wait_is_bound_when_it_is_issued(bench: Bench) -> None:
    bench.load.record(bench.event)
    bench.compute.wait(bench.event)
    bench.copy()
    bench.load.record(bench.event)
    bench.read("bound to the first record")
    bench.compute.wait(bench.event)
    bench.read("bound to the second")
    bench.rig.settle()
    assert not bench.is_fresh("bound to the first record")
    assert bench.is_fresh("bound to the second")


def test_the_ledger_is_host_issue_order_and_memory_follows(bench: Bench) -> None:
    machine = bench.rig.machine
    bench.copy()
    assert machine.wanted(bench.target).tolist() == [[NEW] * len(PAGES)]
    assert landed(machine, bench.target) == [0] * len(PAGES)
    bench.load.launch("write", duration_ns=1, point="compute.layer", writes=[write(bench.target.buffer, [2, 5], 9)])
    assert machine.wanted(bench.target).tolist() == [[NEW, NEW, 9, NEW, NEW, 9, NEW, NEW]]
    bench.rig.settle()
    assert np.array_equal(machine.landed(bench.target), machine.wanted(bench.target))


def test_the_host_never_blocks_on_a_stream_wait(bench: Bench) -> None:
    answers: list[bool | None] = []

    def program() -> HostProgram:
        bench.copy()
        bench.load.record(bench.event)
        bench.compute.wait(bench.event)
        bench.read()
        answers.append((yield Query(bench.event)))
        yield Until(bench.event)
        answers.append((yield Query(bench.event)))

    bench.rig.machine.spawn("host", program())
    bench.rig.settle()
    assert answers == [False, True]
    assert bench.is_fresh()


def test_query_of_an_event_never_recorded_is_true(bench: Bench) -> None:
    answers: list[bool | None] = []

    def program() -> HostProgram:
        answers.append((yield Query(bench.event)))
        yield Until(bench.event)

    bench.rig.machine.spawn("host", program())
    bench.rig.settle()
    assert answers == [True]


def test_until_orders_the_calling_thread_only(bench: Bench) -> None:
    other = bench.rig.machine.stream("other", device=0)

    def waiting() -> HostProgram:
        bench.copy()
        bench.load.record(bench.event)
        yield Until(bench.event)
        bench.read("by the thread that waited")

    def passing() -> HostProgram:
        yield Sleep(1_000_000)
        bench.read("by another thread", other)

    bench.rig.machine.spawn("waiting", waiting())
    bench.rig.machine.spawn("passing", passing())
    bench.rig.settle()
    assert bench.is_fresh("by the thread that waited")
    assert not bench.is_fresh("by another thread")


def test_a_query_that_is_true_orders_what_the_thread_issues_next(bench: Bench) -> None:
    polls = 0

    def program() -> HostProgram:
        nonlocal polls
        bench.copy()
        bench.load.record(bench.event)
        while not (yield Query(bench.event)):
            polls += 1
            yield Sleep(1_000_000)
        bench.read()

    bench.rig.machine.spawn("host", program())
    bench.rig.settle()
    assert polls > 3, "the copy was not slow, so the test shows nothing"
    assert bench.is_fresh()


def test_a_wake_before_the_park_is_not_lost(bench: Bench) -> None:
    steps: list[str] = []

    def sleeper() -> HostProgram:
        yield Sleep(2_000_000)
        steps.append("parks")
        yield Park()
        steps.append("first wake")
        yield Park()
        steps.append("second wake")

    def waker() -> HostProgram:
        thread.wake()
        yield Sleep(4_000_000)
        steps.append("wakes again")
        thread.wake()

    thread = bench.rig.machine.spawn("sleeper", sleeper())
    bench.rig.machine.spawn("waker", waker())
    bench.rig.settle()
    assert steps == ["parks", "first wake", "wakes again", "second wake"]


def test_torn_pages_are_reachable(bench: Bench) -> None:
    # The reader starts at many moments around the copy; at one of them it must catch a page half way.
    machine = bench.rig.machine
    torn = 0
    for trial in range(40):
        bench.load.launch("old", duration_ns=10, point="compute.layer", writes=[write(bench.target.buffer, PAGES, 1)])
        bench.load.record(bench.event)
        bench.compute.wait(bench.event)
        bench.copy(point="h2d.c4")
        bench.compute.launch("head start", duration_ns=1_000 * trial, point="compute.layer")
        bench.read(f"trial {trial}")
        bench.rig.settle()
        view = bench.seen[-1][1]
        torn += int((view.head != view.tail).sum())
        assert landed(machine, bench.target) == [NEW] * len(PAGES)
    assert torn > 0


def test_an_undeclared_access_is_refused(bench: Bench) -> None:
    with pytest.raises(AssertionError, match="no page 8"):
        bench.load.copy(bench.source, region(bench.target.buffer, range(1, 9)), point=SLOW_POINT, label="too far")
    with pytest.raises(AssertionError, match="no page -1"):
        bench.rig.machine.landed(region(bench.target.buffer, [-1]))
    with pytest.raises(AssertionError, match="no layer 1"):
        bench.rig.machine.landed(region(bench.target.buffer, [0], layers=[1]))
    with pytest.raises(AssertionError, match="not a declared delay point"):
        bench.copy(point="h2d.tyop")
    with pytest.raises(AssertionError, match="touches host"):
        bench.compute.launch("kernel", duration_ns=1, point="compute.layer", reads=[bench.source])


def test_a_kernel_body_has_its_views_and_nothing_else(bench: Bench) -> None:
    def peek(views: Sequence[PageView]) -> None:
        assert not views
        bench.rig.machine.landed(bench.target)

    bench.compute.launch("peeks", duration_ns=1, point="compute.layer", body=peek)
    with pytest.raises(AssertionError, match="did not declare"):
        bench.rig.settle()
