"""Reads: what a kernel saw of its pages, against what it was promised, and how late the promised bytes came.

Owns: the `PageView` of one read, and the watch that completes `late_ns`. Does not own: the content of pages at a moment
(`landing.py`). Floor 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import PageView, Region, Versions
from kernels.substrate.paged import gather
from kernels.substrate.virtual.landing import Landing, Times, contents, meets, overlap, touches
from kernels.substrate.virtual.memory import VirtualBuffer


class WholePages:
    """The `tear` and `late_ns` of reads that found every page whole and right, shared by all of one shape."""

    def __init__(self) -> None:
        self._by_shape: dict[tuple[int, ...], tuple[NDArray[np.float32], NDArray[np.int64]]] = {}

    def of(self, shape: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        pair = self._by_shape.get(shape)
        if pair is None:
            pair = np.ones(shape, dtype=np.float32), np.zeros(shape, dtype=np.int64)
            for array in pair:
                array.setflags(write=False)
            self._by_shape[shape] = pair
        return pair


def page_instants(begin_ns: int, end_ns: int, page_count: int) -> Times:
    """[page_count] when each page is read: the middle of its turn in [begin, end)."""
    turns = np.arange(page_count, dtype=np.int64)
    instants: Times = begin_ns + (2 * turns + 1) * (end_ns - begin_ns) // (2 * max(page_count, 1))
    return instants


def look(
    ordinal: int, buffer: VirtualBuffer, region: Region, wanted: Versions, window_ns: tuple[int, int], whole: WholePages
) -> tuple[PageView, bool]:
    """Read a region between two moments that are over: the view, and whether any of it was not as promised.

    wanted: flat, as promised when the read was issued.
    Effect: where the promised bytes are still to come, leaves a watch that completes `late_ns`.
    """
    shape = (len(region.layers), len(region.pages))
    wanted_here = wanted.reshape(shape)
    if not meets(buffer, region):
        held = gather(buffer.landed, region)
        # Comparing bytes costs a third of comparing arrays, and this is nearly every read.
        if held.tobytes() == wanted.tobytes():
            held = held.reshape(shape)
            return PageView(region, wanted_here, held, held, *whole.of(shape)), False
    instants = page_instants(*window_ns, len(wanted))
    seen = contents(buffer, region, instants)
    head, tail = seen.head.reshape(shape), seen.tail.reshape(shape)
    is_stale = (head != wanted_here) | (tail != wanted_here)
    if not is_stale.any():
        return PageView(region, wanted_here, head, tail, *whole.of(shape)), False
    tear = np.ones(shape, dtype=np.float32) if seen.tear is None else seen.tear.reshape(shape)
    late_ns = np.where(is_stale, np.int64(-1), np.int64(0))
    view = PageView(region, wanted_here, head, tail, tear, late_ns)
    watch = LateWatch(ordinal, view, instants)
    is_over = False
    for landing in seen.landings:
        if landing.settled_ns is not None:
            is_over = watch.hear(landing)
    if not is_over:
        buffer.late_watches.append(watch)
    return view, True


class LateWatch:
    """Waits for the bytes that a stale read wanted, to tell how late they came."""

    def __init__(self, ordinal: int, view: PageView, read_ns: Times) -> None:
        self.ordinal = ordinal
        self._view = view
        self._read_ns = read_ns
        self._is_open: NDArray[np.bool_] = view.late_ns.ravel() < 0
        self._open_count = int(self._is_open.sum())

    def __repr__(self) -> str:
        return f"LateWatch(read #{self.ordinal} of {self._view.region.buffer.name}, {self._open_count} pages open)"

    def hear(self, landing: Landing) -> bool:
        """A landing has settled. Effect: fills in `late_ns`. Returns True when there is nothing left to wait for.

        A page that a write issued after the read has reached is given up: what the read wanted is gone.
        """
        region = self._view.region
        if not touches(landing, region):
            return False
        here, there = overlap(landing, region)
        is_open = self._is_open[here]
        here, there = here[is_open], there[is_open]
        if len(here):
            late_ns = landing.page_times()[1][there] - self._read_ns[here]
            is_it = (landing.versions[there] == self._view.wanted.ravel()[here]) & (late_ns > 0)
            self._view.late_ns.ravel()[here[is_it]] = late_ns[is_it]
            self._is_open[here if landing.ordinal > self.ordinal else here[is_it]] = False
            self._open_count = int(self._is_open.sum())
        return self._open_count == 0
