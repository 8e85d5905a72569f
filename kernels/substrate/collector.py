"""The collector: rows, kept as they come, and made into columns when there are many.

Owns: the columns of rows that are objects. Does not own: what columns mean (`columns.py`), files. Floor 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from kernels.substrate.columns import BUFFER, KINDS, STALE, TOUCH, Bools, BufferFacts, Columns, Ints, Tables
from kernels.substrate.contract import PageIds
from kernels.substrate.trace import HostStep, Operation

_KNOWN_ARRAYS_MAX = 65_536


class KeptRows:
    """Rows that are still there as objects. A row that is neither operation nor step is None."""

    def __init__(self, rows: Sequence[Operation | HostStep | None]) -> None:
        self._rows = rows

    def operation(self, index: int) -> Operation:
        row = self._rows[index]
        assert isinstance(row, Operation), f"row {index} is no operation: {row}"
        return row

    def step(self, index: int) -> HostStep:
        row = self._rows[index]
        assert isinstance(row, HostStep), f"row {index} is no host step: {row}"
        return row


class Touch(NamedTuple):
    """An access from elsewhere, its page list numbered already."""

    is_write: bool
    buffer: str
    layers: tuple[int, ...]
    pages: int


class Collector:
    """Keeps rows until they are taken as columns: per row it costs one append."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.row_count = 0
        self.rows: list[Operation | HostStep | None] = []
        self._buffers: list[tuple[int, BufferFacts]] = []
        self._stale: list[int] = []
        self._touches: dict[int, Sequence[Touch]] = {}
        self._host_touches: set[int] = set()
        # Page lists by identity, because the same array comes back for every layer, and by content.
        self._by_id: dict[int, tuple[PageIds, int]] = {}
        self._by_content: dict[bytes, int] = {}

    def __repr__(self) -> str:
        return f"Collector({len(self.rows)} rows, {self.tables})"

    def buffer(self, facts: BufferFacts) -> None:
        self._buffers.append((len(self.rows), facts))
        self.rows.append(None)

    def stale(self) -> None:
        """A row about bytes."""
        self._stale.append(len(self.rows))
        self.rows.append(None)

    def touching(self, operation: Operation, touches: Sequence[Touch], *, by_host: bool = False) -> None:
        """An operation of a foreign trace; by_host: a host thread itself touches memory."""
        self._touches[len(self.rows)] = touches
        if by_host:
            self._host_touches.add(len(self.rows))
        self.rows.append(operation)

    def take(self) -> Columns:
        """Columns of all rows so far. Effect: the collector is empty."""
        rows, texts, count = self.rows, self.tables.texts, len(self.rows)
        operations = [(at, row) for at, row in enumerate(rows) if row.__class__ is Operation]
        steps = [(at, row) for at, row in enumerate(rows) if row.__class__ is HostStep]
        of_operations, of_steps = _Filler(operations, count), _Filler(steps, count)
        kind = np.full(count, BUFFER, np.uint8)
        kind[self._stale] = STALE
        numbers = {name: number for number, name in enumerate(KINDS)}
        of_operations.into(kind, lambda row: numbers[row.kind])
        of_steps.into(kind, lambda row: numbers[row.kind])
        kind[sorted(self._host_touches)] = TOUCH
        write, buffer, layers, pages, access_count = self._accesses(operations)
        columns = Columns(
            first_row=self.row_count + 1,
            kind=kind,
            number=of_steps.into(of_operations.column(lambda row: row.ordinal), lambda row: row.issued),
            stream=of_operations.column(lambda row: texts[row.stream]),
            thread=of_steps.into(of_operations.column(lambda row: texts[row.thread]), lambda row: texts[row.thread]),
            label=of_operations.column(lambda row: texts[row.label]),
            event=of_steps.into(of_operations.column(lambda row: texts[row.event]), lambda row: texts[row.event]),
            generation=of_steps.into(of_operations.column(lambda row: row.generation), lambda row: row.generation),
            other=of_steps.column(lambda row: texts[row.other]),
            answer=of_steps.column(lambda row: row.answer) != 0,
            access_count=access_count,
            write=write,
            buffer=buffer,
            layers=layers,
            pages=pages,
            wake_count=of_steps.column(lambda row: len(row.wakes)),
            wake=np.fromiter(chain.from_iterable(row.wakes for _, row in of_steps.rows), np.int64),
            buffers=self._buffers,
            rows=KeptRows(rows),
        )
        self.tables.page_lists.settle()
        self.row_count += count
        self.rows, self._buffers, self._stale, self._touches, self._host_touches = [], [], [], {}, set()
        return columns

    def _accesses(self, operations: Iterable[tuple[int, Any]]) -> tuple[Bools, Ints, Ints, Ints, Ints]:
        """Columns write, buffer, layers, pages of all accesses, and how many each row has."""
        texts, layer_sets, by_id, touches = self.tables.texts, self.tables.layers, self._by_id, self._touches
        counts = np.zeros(len(self.rows), np.int64)
        write: list[bool] = []
        buffer: list[int] = []
        layers: list[int] = []
        pages: list[int] = []
        for at, operation in operations:
            for is_write, region in operation.accesses:
                write.append(is_write)
                buffer.append(texts[region.buffer.name])
                layers.append(layer_sets[region.layers])
                known = by_id.get(id(region.pages))
                pages.append(known[1] if known is not None else self._list_of(region.pages))
            counts[at] = len(operation.accesses)
            if at in touches:
                for touch in touches[at]:
                    write.append(touch.is_write)
                    buffer.append(texts[touch.buffer])
                    layers.append(layer_sets[touch.layers])
                    pages.append(touch.pages)
                counts[at] = len(touches[at])
        as_ints = (np.array(column, np.int64) for column in (buffer, layers, pages))
        return (np.array(write, bool), *as_ints, counts)  # type: ignore[return-value]

    def _list_of(self, pages: PageIds) -> int:
        """The number of a page list. It must not change once it was seen, which the virtual machine asks for too."""
        content = blake2b(pages.tobytes(), digest_size=16).digest()
        number = self._by_content.get(content)
        if number is None:
            number = self._by_content[content] = self.tables.page_lists.add(page_bounds(pages))
        if len(self._by_id) >= _KNOWN_ARRAYS_MAX:
            self._by_id.clear()
        # The array is kept with its number, so that its id cannot be given to another one.
        self._by_id[id(pages)] = (pages, number)
        return number


class _Filler:
    """Some rows of all, and columns over all that are filled from them."""

    def __init__(self, rows: Sequence[tuple[int, Any]], count: int) -> None:
        self.rows = rows
        self._at = np.array([at for at, _ in rows], np.int64)
        self._count = count

    def into(self, column: Any, value: Callable[[Any], int]) -> Any:
        column[self._at] = [value(row) for _, row in self.rows]
        return column

    def column(self, value: Callable[[Any], int]) -> Ints:
        filled: Ints = self.into(np.zeros(self._count, np.int64), value)
        return filled


def page_bounds(pages: PageIds) -> PageIds:
    """[intervals, 2] half-open intervals of page ids that a walk covers, in walking order."""
    begins = np.ones(len(pages), bool)
    begins[1:] = np.diff(pages) != 1
    at = np.flatnonzero(begins)
    return np.stack((pages[at], pages[np.append(at[1:], len(pages)) - 1] + 1), axis=1)
