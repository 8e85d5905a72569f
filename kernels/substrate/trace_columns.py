"""The trace as columns: blocks of arrays in one binary file, format `kvrace-columns/1`, written while the machine runs.

Owns: the writer and the layout of a block. Does not own: what columns mean (`columns.py`), reading (`read_columns.py`),
judging. Floor 1. Format: docs/trace-format.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, islice
from struct import Struct
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

from kernels.substrate.collector import Collector, Touch
from kernels.substrate.columns import BufferFacts, Ints, Tables, buffer_facts
from kernels.substrate.contract import Buffer, PageView
from kernels.substrate.trace import HostStep, Operation
from kernels.substrate.trace_json import stale_row

MAGIC = b"kvrace-columns\n"
FORMAT = "kvrace-columns/1"
ROWS_A_BLOCK = 65_536

FRAME = Struct("<II")
"""In front of every block: the length of its body, and the CRC-32 of it."""
HEAD = Struct("<I")
"""At the start of a body: the length of its JSON header."""

_TYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<i8")
_OF_ORDER = (
    *("kind", "number", "stream", "thread", "label", "event", "generation", "other", "answer"),
    *("access_count", "write", "buffer", "layers", "pages", "wake_count", "wake"),
)
_OF_TIME = ("issue", "start", "end", "delay", "point", "layer", "io", "site", "site_count")


class ColumnTrace:
    """A trace sink that writes blocks to an open binary file, which stays the caller's to close.

    A complete trace ends with the block that `finish` writes; a reader that does not find it has a truncated file.
    """

    wants_call_sites = True

    def __init__(self, out: BinaryIO, *, program: str = "", seed: int | None = None) -> None:
        self._out = out
        self.tables = Tables()
        self._collector = Collector(self.tables)
        self._stale: list[tuple[int, dict[str, object]]] = []
        self._written = (1, 0, 0)
        header = {"block": "header", "format": FORMAT, "time_unit": "ns", "program": program, "seed": seed}
        out.write(MAGIC)
        out.write(_framed(header, []))
        # The header counts as the first row, as it is the first line of the same trace in JSON Lines.
        self._collector.row_count = 1

    def __repr__(self) -> str:
        return f"ColumnTrace(rows={self.row_count})"

    @property
    def row_count(self) -> int:
        return self._collector.row_count + len(self._collector.rows)

    def buffer(self, buffer: Buffer) -> None:
        self.declare(buffer_facts(buffer))

    def operation(self, operation: Operation) -> None:
        rows = self._collector.rows
        rows.append(operation)
        if len(rows) >= ROWS_A_BLOCK:
            self._write_block()

    def host(self, step: HostStep) -> None:
        self._collector.rows.append(step)

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        self.stale_row(stale_row(operation, read_index, view))

    # What a conversion feeds.

    def declare(self, facts: BufferFacts) -> None:
        """A buffer came into being."""
        self._collector.buffer(facts)

    def touching(self, operation: Operation, touches: Sequence[Touch], *, by_host: bool = False) -> None:
        """An operation whose page lists are numbered in `tables`; by_host: a host thread itself touched memory."""
        self._collector.touching(operation, touches, by_host=by_host)
        if len(self._collector.rows) >= ROWS_A_BLOCK:
            self._write_block()

    def stale_row(self, row: dict[str, object]) -> None:
        """A row about bytes, as it stands in JSON Lines."""
        self._stale.append((len(self._collector.rows), row))
        self._collector.stale()

    def finish(self) -> None:
        """Write what is left, and the closing block. Effect: nothing may be written after it."""
        self._write_block()
        self._out.write(_framed({"block": "end", "rows": self.row_count}, []))

    def abandon(self) -> None:
        """Write what is left, and no closing block: a reader sees that the trace was cut short."""
        self._write_block()

    def _write_block(self) -> None:
        rows = self._collector.rows
        if not rows:
            return
        columns = self._collector.take()
        tables, (texts, layers, lists) = self.tables, self._written
        arrays = {name: getattr(columns, name) for name in _OF_ORDER}
        arrays |= _times(rows, tables)
        page_lists = tables.page_lists
        since = page_lists.offset[lists]
        arrays["list_begin"] = page_lists.begin[since:]
        arrays["list_length"] = page_lists.end[since:] - page_lists.begin[since:]
        arrays["list_count"] = page_lists.counts[lists:]
        header = {
            "block": "rows",
            "first": columns.first_row,
            "rows": len(columns),
            "texts": list(islice(tables.texts, texts, None)),
            "layers": list(islice(tables.layers, layers, None)),
            "buffers": [(index, facts._asdict()) for index, facts in columns.buffers],
            "stale": self._stale,
        }
        self._out.write(_framed(header, list(arrays.items())))
        self._out.flush()
        self._stale = []
        self._written = (len(tables.texts), len(tables.layers), len(page_lists))


def _times(rows: Sequence[Operation | HostStep | None], tables: Tables) -> dict[str, Ints]:
    """The columns that order does not need. start and end are told as lengths, which are small."""
    texts = tables.texts
    table = np.zeros((len(_OF_TIME), len(rows)), np.int64)
    operations = [(at, row) for at, row in enumerate(rows) if isinstance(row, Operation)]
    values = [
        (
            row.issue_ns,
            row.start_ns - row.issue_ns,
            row.end_ns - row.start_ns,
            row.delay_ns,
            texts[row.point],
            0 if row.layer is None else row.layer + 1,
            texts[row.io],
            texts[row.site],
            len(row.access_sites),
        )
        for _, row in operations
    ]
    table[:, [at for at, _ in operations]] = np.array(values, np.int64).reshape(-1, len(_OF_TIME)).T
    steps = [(at, row.time_ns) for at, row in enumerate(rows) if isinstance(row, HostStep)]
    table[0, [at for at, _ in steps]] = [time_ns for _, time_ns in steps]
    sites = [texts[site] for site in chain.from_iterable(row.access_sites for _, row in operations)]
    return {**dict(zip(_OF_TIME, table, strict=True)), "access_site": np.array(sites, np.int64)}


def _framed(header: Mapping[str, Any], columns: Sequence[tuple[str, NDArray[Any]]]) -> bytes:
    stored = [(name, _narrow(column), len(column)) for name, column in columns]
    # A column of one value is stored as that value, and the count says how often it stands.
    told = {**header, "columns": [(name, data.dtype.str, len(data), count) for name, data, count in stored]}
    head = orjson.dumps(told)
    body = b"".join((HEAD.pack(len(head)), head, *(data.tobytes() for _, data, _ in stored)))
    return FRAME.pack(len(body), crc32(body)) + body


def _narrow(column: NDArray[Any]) -> NDArray[Any]:
    if not len(column):
        return column.astype("u1")
    low, high = int(column.min()), int(column.max())
    fitting = next(kind for kind in _TYPES if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    narrow: NDArray[Any] = (column[:1] if low == high else column).astype(fitting)
    return narrow
