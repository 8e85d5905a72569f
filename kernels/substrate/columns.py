"""Rows of a trace as columns: one array a field, with names, layer sets and page lists numbered once.

Owns: the tables of what is numbered, and the columns that say order and memory. Does not own: making them from rows
(`collector.py`), the file format (`trace_columns.py`), judging order (races, floor 2b). Floor 1. Source: ours, after
Arrow's dictionary encoding: a run has some 100,000 rows, but few streams, labels, and ways to walk over pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import Buffer, PageIds
from kernels.substrate.trace import HostStep, Operation

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
K = TypeVar("K")

KINDS = (
    *("copy", "kernel", "touch", "record", "wait"),
    *("spawn", "until", "query", "park", "wake", "exit"),
    *("buffer", "stale"),
)
"""Kinds of rows; a kind's place here is its number in the column `kind`. The first five take a place in a lane."""

COPY, KERNEL, TOUCH, RECORD, WAIT, SPAWN, UNTIL, QUERY, PARK, WAKE, EXIT, BUFFER, STALE = range(len(KINDS))
ROWS_MAX = 1 << 18
"""Rows of one set of columns. Within it a place fits in 20 bits."""

GENERATIONS = 1 << 36
"""More records of one event than any trace has: event and generation fit in one number."""


class Numbering(dict[K, int], Generic[K]):
    """Numbers things in the order in which they are first asked for."""

    def __missing__(self, key: K) -> int:
        number = self[key] = len(self)
        return number


class PageLists:
    """Every way to walk over pages (or bytes), numbered: half-open intervals in walking order.

    begin, end: all intervals of all lists, [n]. begins, ends: the same bounds, ascending within each list.
    offset: [lists + 1] where each list begins in them. counts: [lists] how many intervals each has.
    low, high: [lists] the least and the greatest bound, 0 where a list is empty.
    """

    def __init__(self) -> None:
        self.begin: Ints = np.zeros(0, np.int64)
        self.end: Ints = np.zeros(0, np.int64)
        self.begins: Ints = np.zeros(0, np.int64)
        self.ends: Ints = np.zeros(0, np.int64)
        self.offset: Ints = np.zeros(1, np.int64)
        self.counts: Ints = np.zeros(0, np.int64)
        self.low: Ints = np.zeros(0, np.int64)
        self.high: Ints = np.zeros(0, np.int64)
        self._unsettled: list[PageIds] = []

    def __len__(self) -> int:
        return len(self.offset) - 1 + len(self._unsettled)

    def __repr__(self) -> str:
        return f"PageLists({len(self)} lists, {len(self.begin)} intervals)"

    def extend(self, begin: Ints, end: Ints, counts: Ints) -> None:
        """Number further lists; `counts` [lists] says how many of the intervals each has. None of them may be empty."""
        if not len(counts):
            return
        tails = np.cumsum(counts)
        owner = np.repeat(np.arange(len(counts)), counts)
        begins, ends = _ascending(owner, begin), _ascending(owner, end)
        low, high = np.zeros(len(counts), np.int64), np.zeros(len(counts), np.int64)
        some = np.flatnonzero(counts)
        low[some], high[some] = begins[(tails - counts)[some]], ends[tails[some] - 1]
        self.counts = np.concatenate((self.counts, counts))
        self.offset = np.concatenate((self.offset, tails + self.offset[-1]))
        self.begin, self.end = np.concatenate((self.begin, begin)), np.concatenate((self.end, end))
        self.begins, self.ends = np.concatenate((self.begins, begins)), np.concatenate((self.ends, ends))
        self.low, self.high = np.concatenate((self.low, low)), np.concatenate((self.high, high))

    def add(self, bounds: PageIds) -> int:
        """Number one list, given as [intervals, 2]. It can be asked for after the next `settle`."""
        self._unsettled.append(bounds)
        return len(self) - 1

    def settle(self) -> None:
        """Take in what was added one by one."""
        if self._unsettled:
            counts = np.array([len(bounds) for bounds in self._unsettled], np.int64)
            bounds = np.concatenate(self._unsettled)
            self._unsettled = []
            self.extend(bounds[:, 0], bounds[:, 1], counts)

    def intervals(self, number: int) -> tuple[tuple[int, int], ...]:
        """One list."""
        where = slice(self.offset[number], self.offset[number + 1])
        return tuple(zip(self.begin[where].tolist(), self.end[where].tolist(), strict=True))


class Tables:
    """Everything that rows refer to by number. Number 0 of `texts` is the empty text: none."""

    def __init__(self) -> None:
        self.texts: Numbering[str] = Numbering({"": 0})
        self.layers: Numbering[tuple[int, ...]] = Numbering()
        self.page_lists = PageLists()
        self._names: list[str] = []

    def text(self, number: int) -> str:
        """The text with this number."""
        if len(self._names) != len(self.texts):
            self._names = list(self.texts)
        return self._names[number]

    def __repr__(self) -> str:
        return f"Tables({len(self.texts)} texts, {len(self.layers)} layer sets, {self.page_lists})"


class BufferFacts(NamedTuple):
    """A buffer's row. pages: 0 for a buffer that is accessed by bytes, of which there are `size_bytes`."""

    name: str
    space: str
    layers: int
    pages: int
    page_bytes: int
    size_bytes: int = 0


class RowSource(Protocol):
    """Gives back a row of some columns as an object; reports need few of them."""

    def operation(self, index: int) -> Operation: ...

    def step(self, index: int) -> HostStep: ...


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Consecutive rows of a trace: [n] each, texts by their number. What a kind of row has not is 0.

    first_row: the first row's number in its trace, from 1. number: `op` of an operation, `issued` of a host step.
    access_count, wake_count: [n]; the accesses themselves are [accesses] and the wakes' numbers [wakes], in row order.
    buffer: number of the buffer's name. buffers: the rows that make buffers, by their index.
    """

    first_row: int
    kind: NDArray[np.uint8]
    number: Ints
    stream: Ints
    thread: Ints
    label: Ints
    event: Ints
    generation: Ints
    other: Ints
    answer: Bools
    access_count: Ints
    write: Bools
    buffer: Ints
    layers: Ints
    pages: Ints
    wake_count: Ints
    wake: Ints
    buffers: Sequence[tuple[int, BufferFacts]]
    rows: RowSource

    def __len__(self) -> int:
        return len(self.kind)


def buffer_facts(buffer: Buffer) -> BufferFacts:
    return BufferFacts(buffer.name, buffer.space, buffer.layer_count, buffer.page_count, buffer.page_bytes)


def _ascending(owner: Ints, bounds: Ints) -> Ints:
    """Bounds, ascending within each owner; owners ascend already."""
    bits = int(bounds.max(initial=0)).bit_length()
    if bits + len(owner).bit_length() > 62:
        return bounds[np.lexsort((bounds, owner))]
    # In one number with its owner each sorts by value alone, which is several times as fast.
    return np.sort(owner << bits | bounds) & ((1 << bits) - 1)
