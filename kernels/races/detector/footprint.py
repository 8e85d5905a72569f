"""Footprints: what an access touches, in a form whose overlap is one `&`.

Owns: page sets as bit masks, byte ranges as sorted intervals, and the cache of masks. Does not own: buffers, order.
Floor 2b. Source: ours; facts/concurrency.md section 8 asks for ranges instead of pointers.

A set of pages is a Python integer with bit p set for page p: the overlap of two sets of 4,000 pages costs about as much
as a function call, and one integer serves all layers that the same page list is used for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.substrate.contract import PageIds

_CACHE_PAGE_LISTS = 65_536
_FEW_PAGES = 4


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


class Masks:
    """Masks of page lists, by the identity of the list: the same array comes back for every layer of a batch.

    A page list must not change once it has been seen, which the virtual machine asks for too.
    """

    def __init__(self) -> None:
        # The array is kept with its mask, so that its id cannot be given to another one.
        self.by_id: dict[int, tuple[PageIds, int]] = {}

    def add(self, pages: PageIds) -> int:
        """The mask of a list that is not in `by_id` yet."""
        if len(self.by_id) >= _CACHE_PAGE_LISTS:
            self.by_id.clear()
        mask = page_mask(pages)
        self.by_id[id(pages)] = (pages, mask)
        return mask

    def __repr__(self) -> str:
        return f"Masks({len(self.by_id)} page lists)"
