"""Segments: the accesses of many rows, sorted so that the unordered ones of a lane are one slice.

Owns: the sort orders and the search in them. Does not own: clocks, or what a race is called. Floor 2b.
Source: ours, after FastTrack's read and write epochs.

A series is all that one lane read, or wrote, in one layer of one buffer. Its accesses stand in the order of their
places, and of their rows, so what another operation does not know to be over is the end of the series before that
operation's row. Successive accesses of a series to the same pages are one run: compared once, and counted as many.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from kernels.races.detector.grouping import heads_of, sorted_stably, spread
from kernels.substrate.columns import Ints, RowSource

WIDE = 0
"""The cell of accesses to several layers. An access to layer n alone lies in cell n + 1."""

_BITS = 20
_FULL = (1 << _BITS) - 1
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """Accesses in row order, [n] each, with numbers for lanes, buffers, layer sets, page lists and label patterns.

    row: its operation's row among its columns, from 0. ordinal: the operation's place in host issue order.
    """

    source: RowSource
    row: Ints
    ordinal: Ints
    lane: Ints
    place: Ints
    clock: Ints
    pattern: Ints
    write: Ints
    buffer: Ints
    cell: Ints
    layers: Ints
    pages: Ints

    def __len__(self) -> int:
        return len(self.row)


class Question(NamedTuple):
    """Which accesses of `lane`, writes or reads as `write` says, does each access `x` not know to be over? [n] each.

    known: the place in that lane up to which it knows them to be over.
    """

    x: Ints
    lane: Ints
    write: Ints
    known: Ints

    def some(self, which: Ints) -> Question:
        return Question(*(column[which] for column in self))


class Pairs(NamedTuple):
    """Unordered accesses, [n] each: x asked; y is in the segment, and stands for `times` accesses of its run."""

    x: Ints
    y: Ints
    times: Ints

    def some(self, which: Ints) -> Pairs:
        return Pairs(*(column[which] for column in self))


class _Sorted(NamedTuple):
    """Accesses by series. by_place, by_row: [n] series and place, series and row, in one number each; both ascending.

    run: [n] which run each belongs to. first, last: [runs].
    """

    order: Ints
    by_place: Ints
    by_row: Ints
    run: Ints
    first: Ints
    last: Ints


class Segment:
    """The accesses of some columns."""

    def __init__(self, accesses: Accesses, base: Ints) -> None:
        """base: [lanes] how many operations each lane had before them."""
        self.accesses = accesses
        self._base = base
        self._place = accesses.place - base[accesses.lane]
        # Pages, layers and labels in one number: what makes neighbours in a series one run.
        layers, patterns = (int(column.max(initial=0)) + 1 for column in (accesses.layers, accesses.pattern))
        self._what = (accesses.pages * layers + accesses.layers) * patterns + accesses.pattern
        self._cell_count = int(accesses.cell.max(initial=0)) + 1
        self._has_wide = bool((accesses.cell == WIDE).any())

    def __repr__(self) -> str:
        return f"Segment({len(self.accesses)} accesses, {len(self._base)} lanes)"

    def left_open(self, asking: Accesses, question: Question) -> tuple[Ints, Ints]:
        """Places in `question`: which this segment has answers to, and which earlier segments may have answers to."""
        keys, last = self._ends
        exists = question.lane < len(self._base)
        key = self._key(asking.buffer[question.x], np.where(exists, question.lane, 0), question.write)
        at = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        is_here = exists & (keys[at] == key)
        is_open = last[at] > question.known
        # Places only grow: where even the last one here is known to be over, all earlier ones are.
        return np.flatnonzero(is_here & is_open), np.flatnonzero(exists & ~(is_here & ~is_open))

    def pairs(self, asking: Accesses, question: Question, *, is_current: bool) -> Iterator[Pairs]:
        """The unordered accesses that may share a layer. is_current: `asking` are this segment's own accesses, and only
        those in earlier rows count."""
        cell = asking.cell[question.x]
        is_narrow = cell != WIDE
        key = self._key(asking.buffer[question.x], question.lane, question.write)
        wide = np.flatnonzero(~is_narrow)
        if len(wide):
            yield from self._slices(self._flat, key[wide], asking, question.some(wide), is_current)
        narrow = np.flatnonzero(is_narrow & (cell < self._cell_count))
        if len(narrow):
            keys = key[narrow] * self._cell_count + cell[narrow]
            yield from self._slices(self._by_cell, keys, asking, question.some(narrow), is_current)
        narrow = np.flatnonzero(is_narrow)
        if self._has_wide and len(narrow):
            keys = key[narrow] * self._cell_count + WIDE
            yield from self._slices(self._by_cell, keys, asking, question.some(narrow), is_current)

    def _slices(
        self, by: _Sorted, keys: Ints, asking: Accesses, question: Question, is_current: bool
    ) -> Iterator[Pairs]:
        since = np.clip(question.known - self._base[question.lane], 0, _FULL)
        begin = np.searchsorted(by.by_place, keys << _BITS | since, side="right")
        if is_current:
            end = np.searchsorted(by.by_row, keys << _BITS | asking.row[question.x], side="left")
        else:
            end = np.searchsorted(by.by_place, (keys + 1) << _BITS, side="left")
        some = np.flatnonzero(begin < end)
        x, begin, end = question.x[some], begin[some], end[some]
        first, last = by.run[begin], by.run[end - 1]
        # In blocks, because where nothing is ordered the pairs are many.
        block_of = np.cumsum(last - first + 1) // _BLOCK
        for block in range(int(block_of[-1]) + 1 if len(some) else 0):
            here = slice(*np.searchsorted(block_of, (block, block + 1)))
            owner, run = spread(first[here], last[here])
            y = np.minimum(by.last[run], end[here][owner] - 1)
            count = y - np.maximum(by.first[run], begin[here][owner]) + 1
            yield Pairs(x[here][owner], by.order[y], count)

    def _key(self, buffer: Ints, lane: Ints, write: Ints) -> Ints:
        return (buffer * len(self._base) + lane) * 2 + write

    @cached_property
    def _series(self) -> Ints:
        own = self.accesses
        return self._key(own.buffer, own.lane, own.write)

    @cached_property
    def _flat(self) -> _Sorted:
        """By buffer, lane and mode, all layers together: what an access to several layers asks for."""
        return self._sorted(self._series)

    @cached_property
    def _by_cell(self) -> _Sorted:
        return self._sorted(self._series * self._cell_count + self.accesses.cell)

    @cached_property
    def _ends(self) -> tuple[Ints, Ints]:
        """Buffers, lanes and modes as in `_key`, ascending, and the last place of each."""
        order = sorted_stably(self._series)
        keys = self._series[order]
        heads = heads_of(keys)
        tails = np.append(heads[1:], len(order)) - 1
        return keys[heads], self.accesses.place[order[tails]]

    def _sorted(self, key: Ints) -> _Sorted:
        order = sorted_stably(key)
        series = key[order] << _BITS
        heads = heads_of(series, self._what[order])
        last = np.append(heads[1:], len(order)) - 1
        run = np.repeat(np.arange(len(heads)), last - heads + 1)
        return _Sorted(order, series | self._place[order], series | self.accesses.row[order], run, heads, last)
