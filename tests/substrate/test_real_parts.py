"""Parts of the substrates with real concurrency that can be told apart from time: late bytes, chaos, tears, failure.

Owns: `substrate/real`, `substrate/threaded`, and what of `substrate/cuda` needs no device. Floor: tests.
"""

from __future__ import annotations

import io
import itertools
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.errors import EnvironmentProblem
from kernels.races import judge_lines
from kernels.races.detector.race import Verdict
from kernels.substrate.contract import PageView
from kernels.substrate.cuda.devices import is_available, refuse_longer
from kernels.substrate.cuda.lane import _neighbours
from kernels.substrate.delays import parse_delay
from kernels.substrate.paged import PagedBuffer
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.late import LateWatches
from kernels.substrate.real.machine import RealMachine
from kernels.substrate.real.work import Access
from kernels.substrate.threaded.backend import ThreadedBackend
from kernels.substrate.threaded.chaos import ChaosRules, StreamChaos
from kernels.substrate.threaded.lane import _cut
from kernels.substrate.threaded.memory import WORDS, sight_of
from kernels.substrate.trace_json import JsonLinesTrace
from tests.substrate.plain import plain_cost, region, write


def stale_view(wanted: int) -> tuple[PageView, PagedBuffer]:
    """Both pages of a read hold 1 where `wanted` was promised."""
    pool = PagedBuffer("pool", space="device:0", layer_count=1, page_count=4, page_bytes=64)
    seen = np.ones((1, 2), np.int64)
    late_ns = np.full((1, 2), -1, np.int64)
    whole = np.ones((1, 2), np.float32)
    return PageView(region(pool, [1, 3]), np.full((1, 2), wanted, np.int64), seen, seen, whole, late_ns), pool


def arrival(pool: PagedBuffer, page: int, version: int) -> Access:
    return Access(pool, region(pool, [page]), np.array([version], np.int64))


def test_late_bytes_are_timed_page_by_page_whether_they_come_before_or_after_the_news_of_the_read() -> None:
    view, pool = stale_view(wanted=7)
    watches = LateWatches()
    watches.landed(arrival(pool, 1, 7), 450)
    watches.watch(view, 400)
    assert view.late_ns.tolist() == [[50, -1]]
    watches.landed(arrival(pool, 3, 7), 900)
    assert view.late_ns.tolist() == [[50, 500]]


def test_bytes_that_a_later_write_overtook_stay_unknown() -> None:
    view, pool = stale_view(wanted=7)
    watches = LateWatches()
    watches.watch(view, 400)
    watches.landed(arrival(pool, 1, 8), 500)
    watches.landed(arrival(pool, 3, 7), 600)
    assert view.late_ns.tolist() == [[-1, 200]]


def test_chaos_is_the_same_for_a_seed_and_leaves_others_alone() -> None:
    rules = ChaosRules(seed=3, low_priority_share=1.0, pause_share=0.5)
    pauses = [StreamChaos(rules, "load").pause_ns() for _ in range(2)]
    assert pauses[0] == pauses[1]
    one, same, other = (StreamChaos(rules, name) for name in ("load", "load", "forward"))
    lengths = [one.pause_ns() for _ in range(400)]
    assert lengths == [same.pause_ns() for _ in range(400)]
    assert lengths != [other.pause_ns() for _ in range(400)]
    paused = np.array([length for length in lengths if length])
    assert 120 < len(paused) < 280
    # Spread over orders of magnitude: about half of the lengths lie below the geometric middle of 20 us and 20 ms.
    assert 0.35 < np.mean(paused < 632_000) < 0.65
    nobody = StreamChaos(ChaosRules(seed=3, low_priority_share=0.0), "load")
    assert not any(nobody.pause_ns() for _ in range(400))


def test_a_page_is_whole_torn_or_seen_between_three_writers() -> None:
    pages = np.full((3, WORDS), 5, np.int64)
    pages[1, 4:] = 9
    pages[2, 4:8] = 9
    sight = sight_of(pages)
    assert sight.head.tolist() == [5, 5, 5]
    assert sight.tail.tolist() == [5, 9, 5]
    assert sight.tear.tolist() == [1.0, 4 / WORDS, 4 / WORDS]


@given(st.integers(0, 5 * WORDS), st.integers(1, 5 * WORDS))
def test_a_piece_of_a_copy_is_exactly_its_words(begin: int, length: int) -> None:
    words = [index * WORDS + word for index, first, last in _cut(begin, begin + length) for word in range(first, last)]
    assert words == list(range(begin, begin + length))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_neighbouring_layers_share_a_launch_and_nothing_else_does(pairs: list[tuple[int, int]]) -> None:
    groups = _neighbours(pairs)
    assert [(here + i, there + i) for here, there, count in groups for i in range(count)] == pairs
    for (here, there, count), (next_here, next_there, _) in itertools.pairwise(groups):
        assert (next_here, next_there) != (here + count, there + count)


@pytest.mark.parametrize("waits", [True, False])
def test_the_trace_of_real_threads_is_judged_like_any_other(waits: bool) -> None:
    """Whether bytes were stale is luck here; whether the order is missing is not."""
    out, clock = io.BytesIO(), Clock()
    trace = JsonLinesTrace(out, program="threads", seed=0)
    machine = RealMachine(ThreadedBackend(clock), plain_cost(), clock=clock, trace=trace)
    try:
        shape = {"layer_count": 1, "page_count": 4, "page_bytes": 64}
        host, pool = machine.buffer("host", space="host", **shape), machine.buffer("pool", space="device:0", **shape)
        load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
        event = machine.event("loaded")
        load.launch("fill", duration_ns=0, point="compute.layer", writes=[write(pool, range(4), 1)])
        load.copy(region(pool, range(4)), region(host, range(4)), point="d2h.backup", label="backup")
        load.copy(region(host, range(4)), region(pool, range(4)), point="h2d.index_k", label="load")
        load.record(event)
        if waits:
            compute.wait(event)
        compute.launch("read", duration_ns=10, point="compute.indexer", reads=[region(pool, range(4))])
        machine.run()
    finally:
        machine.close()
    trace.finish()
    detector = judge_lines(io.BytesIO(out.getvalue()))
    assert detector.problems == []
    assert detector.verdict is (Verdict.CLEAN if waits else Verdict.RACES)


def test_a_stream_that_dies_is_heard_of() -> None:
    clock = Clock()
    machine = RealMachine(ThreadedBackend(clock), plain_cost(), clock=clock)
    pool = machine.buffer("pool", space="device:0", layer_count=1, page_count=4, page_bytes=64)
    stream = machine.stream("load", device=0)
    # Versions that do not fit their pages are a bug of the machine, and the thread dies of it.
    good = write(pool, [0, 1], 1)
    stream.launch("fill", duration_ns=0, point="compute.layer", writes=[good])
    machine.run()
    backend = machine.backend
    assert isinstance(backend, ThreadedBackend)
    backend._memory.clear()
    stream.launch("fill", duration_ns=0, point="compute.layer", writes=[good])
    with pytest.raises(KeyError, match="pool"):
        machine.run()


def test_a_machine_without_a_device_says_what_is_missing() -> None:
    works, problem = is_available()
    if not works:
        assert "; " in problem, "what is missing, and one thing to try"


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("h2d.index_k=constant:900ms", False),
        ("h2d.index_k=constant:2s", True),
        ("h2d.c4=uniform:1us,3s", True),
        ("h2d.c4=exponential:100ms", False),
        ("h2d.c4=exponential:200ms", True),
        ("d2h.backup=lognormal:200ms,1", True),
    ],
)
def test_a_delay_that_a_watchdog_would_end_is_refused(text: str, is_refused: bool) -> None:
    delay = parse_delay(text)
    said = pytest.raises(EnvironmentProblem, match=f"at {delay.point} may last .* watchdog.*; keep it below 1 s")
    with said if is_refused else nullcontext():
        refuse_longer([delay], 1_000_000_000)
