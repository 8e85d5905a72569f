"""Footprints: what an access touches, in a form whose overlap is one `&`.

Owns: page sets as bit masks, byte ranges as sorted intervals, and which page lists overlap. Does not own: buffers,
order. Floor 2b. Source: ours; facts/concurrency.md section 8 asks for ranges instead of pointers.

Whether two page lists overlap is asked for many at once, on their intervals. What they share is made for the few that
are reported: a set of pages as a Python integer with bit p set for page p.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from kernels.races.detector.grouping import bisected, numbered, spread
from kernels.substrate.columns import Bools, Ints, PageLists
from kernels.substrate.contract import PageIds

_FEW_PAGES = 4
_PAIRS_A_MASK = 4
_MASK_BITS_MAX = 1 << 20
_PAIRS_TOGETHER = 1 << 14


class ByteRanges:
    """Half-open byte intervals [begin, end), sorted and apart. Strided layouts are many intervals."""

    __slots__ = ("intervals",)

    def __init__(self, intervals: Sequence[tuple[int, int]]) -> None:
        merged: list[tuple[int, int]] = []
        for begin, end in sorted(intervals):
            assert begin <= end, f"interval [{begin}, {end}) ends before it begins"
            if begin == end:
                continue
            if merged and begin <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((begin, end))
        self.intervals = tuple(merged)

    def __and__(self, other: object) -> ByteRanges:
        assert isinstance(other, ByteRanges), "a buffer is accessed by pages or by bytes, not by both"
        shared: list[tuple[int, int]] = []
        ours, theirs = iter(self.intervals), iter(other.intervals)
        mine, yours = next(ours, None), next(theirs, None)
        while mine is not None and yours is not None:
            begin, end = max(mine[0], yours[0]), min(mine[1], yours[1])
            if begin < end:
                shared.append((begin, end))
            if mine[1] <= yours[1]:
                mine = next(ours, None)
            else:
                yours = next(theirs, None)
        return ByteRanges(shared)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteRanges) and self.intervals == other.intervals

    def __hash__(self) -> int:
        return hash(self.intervals)

    def __repr__(self) -> str:
        return f"ByteRanges({', '.join(f'[{begin}, {end})' for begin, end in self.intervals)})"


Footprint = int | ByteRanges
"""A page mask (bit p: page p) or byte ranges. One buffer has one kind."""


def page_mask(pages: PageIds) -> int:
    """[n] page ids as a mask."""
    if len(pages) <= _FEW_PAGES:
        mask = 0
        for page in pages.tolist():
            mask |= 1 << page
        return mask
    bits = np.zeros(int(pages.max()) + 1, dtype=np.uint8)
    bits[pages] = 1
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def intervals_of(footprint: Footprint) -> tuple[tuple[int, int], ...]:
    """Half-open intervals of page ids, or of bytes."""
    if isinstance(footprint, ByteRanges):
        return footprint.intervals
    bits = footprint.to_bytes((footprint.bit_length() + 7) // 8, "little")
    flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags, [0]))))
    return tuple((int(begin), int(end)) for begin, end in edges.reshape(-1, 2))


class Footprints:
    """Which of the numbered page lists overlap, and in what."""

    def __init__(self, lists: PageLists) -> None:
        self.lists = lists

    def __repr__(self) -> str:
        return f"Footprints({self.lists})"

    def meet(self, ours: Ints, theirs: Ints) -> Bools:
        """[n] whether two lists, whose bounds overlap, share a page (or a byte)."""
        counts = self.lists.counts
        # Where neither has a gap, overlapping bounds say it all.
        meets: Bools = (ours == theirs) | ((counts[ours] == 1) & (counts[theirs] == 1))
        rest = np.flatnonzero(~meets)
        if len(rest):
            firsts, group = numbered((ours[rest], theirs[rest]))
            meets[rest] = self._share(ours[rest[firsts]], theirs[rest[firsts]])[group]
        return meets

    def shared(self, one: int, other: int, *, by_bytes: bool) -> Footprint:
        """What two lists have in common."""
        ranges = ByteRanges(self.lists.intervals(one)) & ByteRanges(self.lists.intervals(other))
        return ranges if by_bytes else _mask(ranges.intervals)

    def _share(self, ours: Ints, theirs: Ints) -> Bools:
        """[n] whether any interval of one list overlaps any of the other."""
        either = np.concatenate((ours, theirs))
        used = np.flatnonzero(np.bincount(either))
        # A mask costs as much as a few comparisons of intervals, and serves all pairs that a list is in.
        if len(ours) > _PAIRS_A_MASK * len(used) and int(self.lists.high[used].max()) <= _MASK_BITS_MAX:
            masks = {number: _mask(self.lists.intervals(number)) for number in used.tolist()}
            shared = [masks[a] & masks[b] != 0 for a, b in zip(ours.tolist(), theirs.tolist(), strict=True)]
            return np.array(shared, bool)
        share = np.zeros(len(ours), bool)
        for begin in range(0, len(ours), _PAIRS_TOGETHER):
            here = slice(begin, begin + _PAIRS_TOGETHER)
            share[here] = self._overlap(ours[here], theirs[here])
        return share

    def _overlap(self, ours: Ints, theirs: Ints) -> Bools:
        lists = self.lists
        pair, at = spread(lists.offset[ours], lists.offset[ours + 1] - 1)
        first, last = lists.offset[theirs[pair]], lists.offset[theirs[pair] + 1]
        # Intervals that begin before this one ends, less those that end before it begins, are those that overlap it.
        begun = bisected(lists.begins, first, last, lists.end[at], is_right=False)
        over = bisected(lists.ends, first, last, lists.begin[at], is_right=True)
        return np.bincount(pair, weights=begun > over, minlength=len(ours)) > 0


def _mask(intervals: Iterable[tuple[int, int]]) -> int:
    mask = 0
    for begin, end in intervals:
        mask |= (1 << end) - (1 << begin)
    return mask
