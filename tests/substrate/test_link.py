"""Sharing a link: hand-computed examples, and what must hold of every share."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.substrate.contract import HostProgram, Region, Sleep
from kernels.substrate.trace import MemoryTrace
from kernels.substrate.virtual.link import Link, Transfer, fair_rates
from kernels.substrate.virtual.machine import VirtualMachine
from kernels.substrate.virtual.stream import VirtualStream
from kernels.substrate.virtual.timeline import Timeline
from tests.substrate.plain import plain_cost, plain_machine, region


class TwoPools:
    """A machine whose link carries 1.5 bytes a nanosecond where one copy alone moves 1, and regions of 100 bytes."""

    def __init__(self, **numbers: float) -> None:
        self.trace = MemoryTrace()
        self.machine: VirtualMachine = plain_machine(plain_cost(link=1.5, **numbers), trace=self.trace)
        self.device = self.machine.buffer("device", space="device:0", layer_count=1, page_count=64, page_bytes=100)
        self.host = self.machine.buffer("host", space="host", layer_count=1, page_count=64, page_bytes=100)

    def here(self, first: int, count: int) -> Region:
        return region(self.device, range(first, first + count))

    def there(self, first: int, count: int) -> Region:
        return region(self.host, range(first, first + count))

    def load(self, stream: VirtualStream, first: int, count: int) -> None:
        stream.copy(self.there(first, count), self.here(first, count), point="h2d.c4", label="load")

    def save(self, stream: VirtualStream, first: int, count: int) -> None:
        stream.copy(self.here(first, count), self.there(first, count), point="d2h.backup", label="save")

    def times(self) -> list[tuple[int, int]]:
        self.machine.run()
        rows = sorted(self.trace.operations, key=lambda row: row.ordinal)
        return [(row.start_ns, row.end_ns) for row in rows if row.kind == "copy"]


def test_two_copies_share_a_link_that_cannot_carry_both() -> None:
    pools = TwoPools()
    a, b = pools.machine.stream("a", device=0), pools.machine.stream("b", device=0)
    pools.load(a, 0, 3)
    pools.load(b, 10, 6)
    # Both at 0.75: a's 300 bytes end at 400, when b has 300 of 600; alone at its cap of 1 b needs 300 more.
    assert pools.times() == [(0, 400), (0, 700)]


def test_a_copy_that_joins_later_slows_the_first_from_then_on() -> None:
    pools = TwoPools()
    a, b = pools.machine.stream("a", device=0), pools.machine.stream("b", device=0)
    pools.load(a, 0, 4)
    b.launch("busy", duration_ns=100, point="compute.layer")
    pools.load(b, 10, 3)
    # a has 100 bytes at 100; both at 0.75 until a's other 300 are over at 500; b has 300 then, and is over too.
    assert pools.times() == [(0, 500), (100, 500)]


def test_a_slow_copy_leaves_what_it_cannot_use_to_the_others() -> None:
    # The direct path moves a lone small copy at 0.5 bytes a nanosecond here; the gather path is left 1.0.
    pools = TwoPools(copy__run=0.5)
    a, b = pools.machine.stream("a", device=0), pools.machine.stream("b", device=0)
    a.copy(pools.there(0, 2), pools.here(0, 2), point="h2d.c4", label="direct", io="direct")
    pools.load(b, 10, 3)
    (_, direct_end), (_, gather_end) = pools.times()
    assert gather_end == 300
    assert direct_end > 300


def test_copies_on_different_links_do_not_share() -> None:
    pools = TwoPools()
    other = pools.machine.buffer("other", space="device:1", layer_count=1, page_count=64, page_bytes=100)
    a, b = pools.machine.stream("a", device=0), pools.machine.stream("b", device=1)
    pools.load(a, 0, 3)
    b.copy(pools.there(10, 3), region(other, range(3)), point="h2d.c4", label="load")
    assert pools.times() == [(0, 300), (0, 300)]


def test_both_directions_busy_cost_both_their_duplex_share() -> None:
    # Duplex 0.5: with the other direction busy a link carries 0.75, below the cap of 1.
    pools = TwoPools(link__duplex=0.5)
    a, b = pools.machine.stream("a", device=0), pools.machine.stream("b", device=0)
    pools.load(a, 0, 3)
    pools.save(b, 10, 6)
    # The load's 300 bytes take 400; by then the save has 300 of 600, and takes the rest at 1.
    assert pools.times() == [(0, 400), (0, 700)]


def test_handoff_and_local_copies_use_links_of_their_own() -> None:
    pools = TwoPools(link__handoff=0.5, link__local=4.0)
    other = pools.machine.buffer("other", space="device:1", layer_count=1, page_count=64, page_bytes=100)
    a, b = pools.machine.stream("a", device=0), pools.machine.stream("b", device=0)
    a.copy(pools.here(0, 3), region(other, range(3)), point="handoff", label="handoff")
    b.copy(pools.here(0, 4), pools.here(10, 4), point="h2d.c4", label="inside")
    assert pools.times() == [(0, 600), (0, 100)]


def test_a_copy_inside_host_memory_is_refused() -> None:
    pools = TwoPools()
    other = pools.machine.buffer("other host", space="host", layer_count=1, page_count=64, page_bytes=100)
    stream = pools.machine.stream("a", device=0)
    with pytest.raises(AssertionError, match="a is on device:0"):
        stream.copy(pools.there(0, 1), region(other, [0]), point="h2d.c4", label="host to host")


def test_an_empty_copy_takes_its_launch_and_no_more() -> None:
    pools = TwoPools(copy__launch=5.0)
    pools.load(pools.machine.stream("a", device=0), 0, 0)
    assert pools.times() == [(0, 5_000)]


def test_the_direct_path_costs_the_host_a_call_a_run_and_is_bound_by_it() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=3.5, copy__run=1e5), trace=trace)
    device = machine.buffer("device", space="device:0", layer_count=2, page_count=64, page_bytes=100_000)
    host = machine.buffer("host", space="host", layer_count=2, page_count=64, page_bytes=100_000)
    stream = machine.stream("a", device=0)
    source, target = region(host, [4, 5, 6, 9, 10, 2], (0, 1)), region(device, [0, 1, 2, 3, 5, 6], (0, 1))

    def program() -> HostProgram:
        stream.copy(source, target, point="h2d.c4", label="pages", io="direct")
        yield Sleep(0)

    machine.spawn("host", program())
    machine.run()
    (row,) = trace.operations
    # Runs that are contiguous on both sides: 4-6 to 0-2, 9 to 3, 10 to 5, 2 to 6: four a layer, eight calls of 3.5 us.
    # Each run moves in 1 to 3 ns; the bytes are there when the last call is over.
    assert row.issue_ns == 3_500
    assert row.end_ns == 8 * 3_500
    assert trace.steps[-1].time_ns == 8 * 3_500


def test_the_gather_path_costs_one_call() -> None:
    trace = MemoryTrace()
    machine = plain_machine(plain_cost(host__enqueue=3.5, copy__page=0.25), trace=trace)
    device = machine.buffer("device", space="device:0", layer_count=1, page_count=64, page_bytes=100)
    host = machine.buffer("host", space="host", layer_count=1, page_count=64, page_bytes=100)
    stream = machine.stream("a", device=0)

    def program() -> HostProgram:
        stream.copy(region(host, [4, 9, 2]), region(device, [0, 7, 3]), point="h2d.c4", label="pages")
        yield Sleep(0)

    machine.spawn("host", program())
    machine.run()
    # 3 pages of 100 bytes at 1 byte a nanosecond, and 250 ns latency each.
    assert [(row.issue_ns, row.end_ns) for row in trace.operations] == [(3_500, 3_500 + 3 * 350)]


@settings(deadline=None, derandomize=True)
@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8), st.floats(0.01, 200.0))
def test_shares_are_fair(caps: list[float], capacity: float) -> None:
    rates = fair_rates(caps, capacity)
    assert all(0.0 < rate <= cap for rate, cap in zip(rates, caps, strict=True))
    # Nothing is wasted: the link is full, or everybody has all that it can use.
    assert sum(rates) == pytest.approx(min(capacity, sum(caps)))
    # Whoever has less than it could use has at least as much as anyone else.
    greatest = max(rates)
    assert all(rate == pytest.approx(greatest) for rate, cap in zip(rates, caps, strict=True) if rate < cap * 0.999)


Load = tuple[int, int, Fraction]
"""Begin, bytes, and bytes a nanosecond alone."""


def fluid_ends(loads: list[Load], capacity: Fraction) -> list[Fraction]:
    """Ends by exact arithmetic: between two changes every copy moves at its cap or at the water level."""
    left = [Fraction(byte_count) for _, byte_count, _ in loads]
    ends: list[Fraction | None] = [None] * len(loads)
    now = Fraction(0)
    while None in ends:
        active = [i for i, load in enumerate(loads) if ends[i] is None and load[0] <= now]
        level = Fraction(0)
        for cap in sorted({loads[i][2] for i in active}):
            # With the water at this cap, would the link overflow? Then it stands where it is just full.
            slow = [loads[i][2] for i in active if loads[i][2] < cap]
            level = min(cap, (capacity - sum(slow)) / (len(active) - len(slow)))
            if level < cap:
                break
        rates = {i: min(loads[i][2], level) for i in active}
        changes = [left[i] / rates[i] for i in active]
        changes += [load[0] - now for load in loads if load[0] > now]
        step = min(changes)
        now += step
        for i in active:
            left[i] -= rates[i] * step
            if left[i] == 0:
                ends[i] = now
    return [end for end in ends if end is not None]


quarters = st.integers(1, 16).map(lambda quarter: Fraction(quarter, 4))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 300), st.integers(1, 400), quarters), min_size=1, max_size=7), quarters)
def test_sharing_over_time_is_that_of_a_fluid(loads: list[Load], capacity: Fraction) -> None:
    timeline = Timeline()
    link = Link("link", float(capacity), timeline)
    ends: dict[int, int] = {}
    for i, (begin_ns, byte_count, cap) in enumerate(loads):

        def join(
            _: None, i: int = i, begin_ns: int = begin_ns, byte_count: int = byte_count, cap: float = float(cap)
        ) -> None:
            link.join(Transfer(byte_count, cap, begin_ns, lambda end_ns: ends.update({i: end_ns})), begin_ns)

        timeline.at(begin_ns, join, None)
    timeline.run()
    assert not link.active
    for i, end in enumerate(fluid_ends(loads, capacity)):
        # Ends are whole nanoseconds, rounded up at each end of somebody else's copy.
        assert abs(ends[i] - end) <= len(loads) + 1
