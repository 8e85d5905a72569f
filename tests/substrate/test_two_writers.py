"""Two writers of one page: who was last is decided by bytes, page by page. Arithmetic by hand."""

from __future__ import annotations

from tests.substrate.bench import Bench
from tests.substrate.plain import landed, region, write


def test_of_two_copies_the_later_byte_wins_page_by_page() -> None:
    bench = Bench()
    everything, last = region(bench.device, range(4)), region(bench.device, [3])
    bench.load(bench.stream("slow"), bench.one, everything)
    bench.load(bench.stream("fast", after_ns=25), bench.two, region(bench.device, [0, 3]))
    bench.read(bench.stream("early", after_ns=12), everything)
    bench.read(bench.stream("late", after_ns=38), everything)
    bench.run()
    # slow: pages end at 10, 20, 30, 40. fast: page 0 at 35, page 3 at 45, after slow's 40.
    assert landed(bench.machine, everything) == [2, 1, 1, 2]
    early, late = bench.views
    assert (early.head.tolist(), early.tail.tolist()) == ([[1, 1, 0, 0]], [[1, 0, 0, 0]])
    # At 38 page 3 is being written by both: the younger landing (since 35) is in front.
    assert (late.head.tolist(), late.tail.tolist()) == ([[2, 1, 1, 2]], [[2, 1, 1, 0]])
    assert landed(bench.machine, last) == [2]


def test_an_older_copy_that_ends_later_does_not_undo_a_younger_page() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("slow"), bench.one, everything)
    bench.load(bench.stream("fast", after_ns=12), bench.two, region(bench.device, [0]))
    bench.run()
    # slow had left page 0 at 10; fast took it in 12-22, while slow went on to 40.
    assert landed(bench.machine, everything) == [2, 1, 1, 1]


def test_a_reader_that_began_after_the_younger_page_still_finds_it() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("slow"), bench.one, everything)
    bench.load(bench.stream("fast", after_ns=12), bench.two, region(bench.device, [0]))
    # Begins when fast is over and slow is not, and looks at 35, 45, 55, 65.
    bench.read(bench.stream("compute", after_ns=30), everything, read_ns=40)
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == view.tail.tolist() == [[2, 1, 1, 1]]


def test_a_reader_in_the_middle_of_the_older_copy_finds_the_younger_page() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("slow"), bench.one, everything)
    bench.load(bench.stream("fast", after_ns=12), bench.two, region(bench.device, [0]))
    # Looks at 27, 29, 31, 33 and is over at 34: fast ended at 22, slow goes on to 40.
    bench.read(bench.stream("compute", after_ns=26), everything, read_ns=8)
    bench.machine.advance_to(bench.begin_ns + 26)
    assert landed(bench.machine, everything) == [2, 1, 0, 0]
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == [[2, 1, 1, 1]]
    assert view.tail.tolist() == [[2, 1, 1, 0]]


def test_between_two_younger_writers_the_first_of_them_shows() -> None:
    bench = Bench()
    everything = region(bench.device, range(4))
    bench.load(bench.stream("slow"), bench.one, everything)
    bench.load(bench.stream("fast", after_ns=12), bench.two, region(bench.device, [0]))
    kernel = bench.stream("kernel", after_ns=35)
    kernel.launch("write", duration_ns=0, point="compute.layer", writes=[write(bench.device, [0], 9)])
    # Begins after fast is over, looks at 28, 36, 44, 52, and is over long after slow.
    bench.read(bench.stream("compute", after_ns=24), everything, read_ns=32)
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == view.tail.tolist() == [[2, 1, 1, 1]]
    assert landed(bench.machine, everything) == [9, 1, 1, 1]


def test_what_a_copy_moved_stays_although_its_source_changes_before_a_reader_looks_back() -> None:
    bench = Bench()
    both, one = region(bench.device, [0, 1]), region(bench.device, [0])
    load = bench.stream("load")
    bench.load(load, bench.one, both)
    load.launch("write", duration_ns=0, point="compute.layer", writes=[write(bench.device, [0], 4)])
    load.copy(one, region(bench.one, [0]), point="d2h.backup", label="save over the source")
    # Looks at 16 and 28, over at 34. The write takes page 0 at 20, the save puts that into the load's source by 30.
    bench.read(bench.stream("compute", after_ns=10), both, read_ns=24)
    bench.run()
    (view,) = bench.views
    assert view.head.tolist() == view.tail.tolist() == [[1, 1]]
    assert landed(bench.machine, region(bench.one, [0])) == [4]
