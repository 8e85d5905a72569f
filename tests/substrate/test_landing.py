"""Pages on their way: torn fractions, overwritten sources, lateness, forgetting. Arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.substrate.virtual.invariants import check_invariants
from tests.substrate.bench import Bench
from tests.substrate.plain import landed, region, write


def test_a_torn_page_says_where_it_is_torn_and_how_late_it_was() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("load"), bench.one, everything)
    bench.read(bench.stream("compute", after_ns=27), everything)
    bench.run()
    (view,) = bench.views
    assert view.wanted.tolist() == [[1, 1, 1, 1]]
    assert view.head.tolist() == [[1, 1, 1, 0]]
    assert view.tail.tolist() == [[1, 1, 0, 0]]
    # At 27 page 2 holds 7 of its 10 bytes.
    assert view.tear.tolist() == [[1.0, 1.0, pytest.approx(0.7), 1.0]]
    assert view.stale.tolist() == [[False, False, True, True]]
    # Pages 2 and 3 are complete at 30 and 40.
    assert view.late_ns.tolist() == [[0, 0, 3, 13]]


def test_lateness_is_filled_in_when_the_bytes_arrive() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("load", after_ns=1_000), bench.one, everything)
    bench.read(bench.stream("compute"), everything)
    bench.machine.advance_to(bench.begin_ns + 900)
    (view,) = bench.views
    assert view.late_ns.tolist() == [[-1, -1, -1, -1]]
    bench.run()
    assert view.late_ns.tolist() == [[1_010, 1_020, 1_030, 1_040]]
    assert [row.view for row in bench.trace.stale_rows] == [view]


def test_lateness_is_given_up_when_something_younger_takes_the_page() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("load", after_ns=1_000), bench.one, everything)
    bench.read(bench.stream("compute"), everything)
    young = bench.stream("young")
    young.launch("write", duration_ns=5, point="compute.layer", writes=[write(bench.device, [1], 9)])
    bench.run()
    (view,) = bench.views
    assert view.late_ns.tolist() == [[1_010, -1, 1_030, 1_040]]
    assert bench.device.late_watches == []


def test_regions_are_walked_layer_by_layer_in_the_given_order() -> None:
    bench = Bench()
    walk = region(bench.device, [3, 0], layers=[1, 0])
    bench.load(bench.stream("load"), bench.one, walk)
    # (1,3) lands in 0-10, (1,0) in 10-20, (0,3) in 20-30, (0,0) in 30-40.
    bench.read(bench.stream("compute", after_ns=25), region(bench.device, [0, 3], layers=[0, 1]))
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == [[0, 1], [1, 1]]
    assert view.tail.tolist() == [[0, 0], [1, 1]]
    assert view.tear[0, 1] == pytest.approx(0.5)


def test_several_regions_share_the_reading_time_by_bytes() -> None:
    bench = Bench()
    layer_0, layer_1 = region(bench.device, range(4)), region(bench.device, [0], layers=[1])
    bench.load(bench.stream("load"), bench.one, layer_1)
    # 50 bytes in 50 ns: layer 0 in 0-40, at 5, 15, 25, 35; layer 1's page in 40-50, at 45, long after it landed at 10.
    bench.read(bench.stream("compute"), layer_0, layer_1, read_ns=50)
    bench.run()
    assert [view.stale.any() for view in bench.views] == [False, False]
    bench.load(bench.stream("again"), bench.two, layer_1)
    # The other way round it is read at 5, half way through.
    bench.read(bench.stream("compute 2"), layer_1, layer_0, read_ns=50)
    bench.run()
    torn = bench.views[2]
    assert (torn.head.tolist(), torn.tail.tolist(), torn.tear.tolist()) == ([[2]], [[1]], [[pytest.approx(0.5)]])


def test_a_copy_moves_what_the_source_holds_when_its_byte_moves() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    writer = bench.stream("writer", after_ns=15)
    writer.launch("write", duration_ns=0, point="compute.layer", writes=[write(bench.device, range(4), 9)])
    save = bench.stream("save")
    save.copy(everything, region(bench.one, range(4)), point="d2h.backup", label="save")
    assert bench.machine.wanted(region(bench.one, range(4))).tolist() == [[9, 9, 9, 9]]
    bench.run()
    # Pages begin to move at 0, 10, 20, 30; the write lands at 15.
    assert landed(bench.machine, region(bench.one, range(4))) == [0, 0, 9, 9]


def test_a_half_landed_source_page_counts_as_its_old_version() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("load"), bench.one, everything)
    save = bench.stream("save", after_ns=15)
    save.copy(everything, region(bench.two, range(4)), point="d2h.backup", label="save")
    bench.run()
    # Loaded pages are complete at 10, 20, 30, 40; saved pages begin to move at 15, 25, 35, 45.
    assert landed(bench.machine, region(bench.two, range(4))) == [1, 1, 1, 1]
    save.copy(everything, region(bench.two, range(4)), point="d2h.backup", label="save")
    bench.load(bench.stream("load 2"), bench.two, everything)
    bench.run()
    assert landed(bench.machine, region(bench.two, range(4))) == [1, 1, 1, 1]


def test_one_version_over_itself_is_a_whole_page() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    load = bench.stream("load")
    bench.load(load, bench.one, region(bench.device, [0, 1, 2]))
    bench.load(load, bench.one, everything)
    # The second load has 1.5 pages done at 45: page 1 is half way, from version 1 to version 1.
    bench.read(bench.stream("compute", after_ns=45), everything)
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == view.tail.tolist() == [[1, 1, 1, 0]]
    assert view.tear.tolist() == [[1.0, 1.0, 1.0, 1.0]]
    assert view.late_ns.tolist() == [[0, 0, 0, 25]]


def test_lateness_of_bytes_that_arrive_while_the_read_goes_on() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("load"), bench.one, everything)
    # Looks at 8, 24, 40, 56; pages are complete at 10, 20, 30, 40, long before the read is over.
    bench.read(bench.stream("compute"), everything, read_ns=64)
    bench.run()
    (view,) = bench.views
    assert view.late_ns.tolist() == [[2, 0, 0, 0]]
    assert bench.device.late_watches == []


def test_promised_bytes_that_came_and_were_overwritten_are_not_late() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    old = bench.stream("old", after_ns=37)
    old.launch("write", duration_ns=0, point="compute.layer", writes=[write(bench.device, range(4), 9)])
    bench.load(bench.stream("load"), bench.one, everything)
    # The load is promised. Three of its pages are overwritten at 37 by what was issued before it; the last lands at 40.
    bench.read(bench.stream("compute", after_ns=36), everything, read_ns=16)
    bench.run()
    (view,) = bench.views
    assert view.wanted.tolist() == [[1, 1, 1, 1]]
    assert view.head.tolist() == view.tail.tolist() == [[9, 9, 9, 1]]
    assert view.late_ns.tolist() == [[-1, -1, -1, 0]]


def test_memory_in_the_middle_of_a_copy_is_what_has_wholly_landed() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("load"), bench.one, everything)
    found = []
    for time_ns in (0, 9, 10, 29, 39, 40):
        bench.machine.advance_to(bench.begin_ns + time_ns)
        found.append(landed(bench.machine, everything))
    assert found == [[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_pages_that_move_in_no_time_are_there_when_the_copy_is() -> None:
    bench = Bench(link__local=30.0)
    source, target = region(bench.device, [0, 1, 2]), region(bench.device, [0, 1, 2], layers=[1])
    stream = bench.stream("local", after_ns=100)
    first = bench.stream("first")
    first.launch("old", duration_ns=0, point="compute.layer", writes=[write(bench.device, range(3), 9, [1])])
    bench.load(first, bench.one, source)
    # Under way all the time, in the same layers, so that nobody may take the short way.
    bench.load(bench.stream("other", after_ns=85), bench.two, region(bench.device, [3], layers=[0, 1]))
    # 30 bytes in 1 ns: the pages begin at 0 and end at 0, 0 and 1, by whole nanoseconds.
    stream.copy(source, target, point="handoff", label="inside the device")
    bench.read(stream, target)
    bench.read(bench.stream("at once", after_ns=100), target)
    bench.run()
    at_once, ordered = bench.views
    assert not ordered.stale.any()
    # At 100, when they begin and two of them end, the pages may hold one version or the other, and no third.
    assert set(at_once.head.flat) | set(at_once.tail.flat) <= {9, 1}
    assert landed(bench.machine, target) == [1, 1, 1]


def test_page_times_follow_the_rate_of_a_shared_link() -> None:
    bench = Bench(link=1.5)
    a, b = region(bench.device, range(4)), region(bench.device, range(4), layers=[1])
    bench.load(bench.stream("a"), bench.one, a)
    bench.load(bench.stream("b", after_ns=20), bench.two, b)
    # a moves 20 bytes by 20, then both at 0.75: its pages 2 and 3 end at 33.3 and 46.7.
    bench.read(bench.stream("compute", after_ns=40), a)
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == [[1, 1, 1, 1]]
    assert view.tail.tolist() == [[1, 1, 1, 0]]
    # At 40 a has moved 20 + 15 bytes: page 3 is half there.
    assert view.tear[0, 3] == pytest.approx(0.5, abs=0.04)
    assert view.late_ns[0, 3] == 7


def test_nothing_is_remembered_when_nobody_looks() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    load = bench.stream("load")
    for _ in range(20):
        bench.load(load, bench.one, everything)
        load.launch("write", duration_ns=3, point="compute.layer", writes=[write(bench.device, [1, 2], 5)])
    bench.read(bench.stream("long"), everything, read_ns=200)
    bench.run()
    assert bench.device.landings == []
    assert bench.device.open_ns == []
    assert np.array_equal(bench.device.landed, bench.device.wanted)


def test_what_nobody_can_look_back_at_is_forgotten_although_something_is_always_under_way() -> None:
    bench = Bench()
    a, b = bench.stream("a"), bench.stream("b", after_ns=20)
    for _ in range(20):
        bench.load(a, bench.one, region(bench.device, range(4)))
        bench.load(b, bench.two, region(bench.device, range(4), layers=[1]))
    most = 0
    while (next_ns := bench.machine.next_time_ns()) is not None:
        bench.machine.advance_to(next_ns)
        check_invariants(bench.machine)
        most = max(most, len(bench.device.landings))
    assert most <= 3


def test_two_copies_in_opposite_directions_end() -> None:
    bench = Bench()
    here, there = region(bench.device, range(4)), region(bench.one, range(4))
    bench.load(bench.stream("down"), bench.one, here)
    bench.stream("up").copy(here, there, point="d2h.backup", label="up")
    bench.read(bench.stream("compute", after_ns=20), here)
    bench.run()
    assert set(landed(bench.machine, here)) <= {0, 1}
    assert set(landed(bench.machine, there)) <= {0, 1}
