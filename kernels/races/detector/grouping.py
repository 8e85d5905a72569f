"""Grouping: the elements of an integer column by their value.

Owns: stable grouping, and one number for several columns. Does not know what the columns mean. Floor 2b. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernels.substrate.columns import Ints

_FEW = 1 << 16


class Groups:
    """Groups of equal keys. order: [n] the elements, group by group, in their own order within each.

    heads, sizes, keys: [groups] where each begins in `order`, its size, its key (ascending).
    """

    __slots__ = ("heads", "keys", "order", "sizes")

    def __init__(self, keys: Ints) -> None:
        """keys: [n], not negative."""
        self.order = sorted_stably(keys)
        ordered = keys[self.order]
        self.heads = heads_of(ordered)
        self.keys = ordered[self.heads]
        self.sizes = np.diff(np.append(self.heads, len(keys)))

    @property
    def rank(self) -> Ints:
        """[n] how many elements of its group come before each."""
        rank = np.empty(len(self.order), np.int64)
        rank[self.order] = np.arange(len(self.order)) - np.repeat(self.heads, self.sizes)
        return rank

    def __iter__(self) -> Iterator[tuple[int, Ints]]:
        for key, head, size in zip(self.keys.tolist(), self.heads.tolist(), self.sizes.tolist(), strict=True):
            yield key, self.order[head : head + size]

    def __repr__(self) -> str:
        return f"Groups({len(self.order)} elements in {len(self.keys)} groups)"


def sorted_stably(keys: Ints) -> Ints:
    """[n] the order that sorts keys that are not negative. Few different ones are sorted by radix, in linear time."""
    small = len(keys) > 0 and int(keys.max()) < _FEW
    order: Ints = np.argsort(keys.astype(np.uint16) if small else keys, kind="stable")
    return order


def distinct(values: Ints) -> tuple[Ints, Ints]:
    """The different values of a column of small numbers, ascending, and [n] which of them each is."""
    found = np.flatnonzero(np.bincount(values))
    which = np.zeros(int(values.max(initial=0)) + 1, np.int64)
    which[found] = np.arange(len(found))
    return found, which[values]


def bisected(values: Ints, begin: Ints, end: Ints, wanted: Ints, *, is_right: bool) -> Ints:
    """`bisect_left` (or right) for many at once: [n] where each wanted value belongs in its own ascending slice of
    `values`, from `begin` to `end`."""
    low, high = begin.copy(), end.copy()
    if not len(values):
        return low
    for _ in range(int((end - begin).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        value = values[np.minimum(middle, len(values) - 1)]
        goes_up = (low < high) & ((value <= wanted) if is_right else (value < wanted))
        low, high = np.where(goes_up, middle + 1, low), np.where(goes_up, high, middle)
    return low


def heads_of(*columns: Ints) -> Ints:
    """Where a run of equal rows begins, over one or more columns of one length."""
    count = len(columns[0])
    is_head = np.zeros(count, bool)
    is_head[:1] = True
    for column in columns:
        is_head[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(is_head)


def spread(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """All numbers from `first` to `last`, both included, range by range: whose each is, and the numbers."""
    sizes = last - first + 1
    owner = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return owner, np.arange(len(owner)) - np.repeat(ends - sizes, sizes) + first[owner]


def numbered(columns: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Equal rows of several columns: [groups] the first row of each, in the order of their first rows, and [n] the
    group of each row."""
    order = _sorted_rows(columns)
    heads = heads_of(*(column[order] for column in columns))
    group_of = np.empty(len(order), np.int64)
    group_of[order] = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(order))))
    # lexsort is stable, so the first row of a run is the earliest of its group.
    firsts = order[heads]
    by_first = np.argsort(firsts)
    renumbered = np.empty(len(heads), np.int64)
    renumbered[by_first] = np.arange(len(heads))
    return firsts[by_first], renumbered[group_of]


def _sorted_rows(columns: Sequence[Ints]) -> Ints:
    """A stable order in which equal rows are neighbours. No column has negative numbers."""
    packed, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        count = int(column.max(initial=0)) + 1
        size *= count
        if size >= 1 << 62:
            return np.lexsort(columns)
        packed = packed * count + column
    return sorted_stably(packed)
