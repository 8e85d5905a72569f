"""Reading `kvrace-columns/1`: block by block, and never more than what the file really holds.

Owns: every check that keeps a cut, damaged or foreign file from being read as a right one. Does not own: the layout
(`trace_columns.py`), what columns mean (`columns.py`), judging. Floor 1. Format: docs/trace-format.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
import orjson
from numpy.typing import NDArray

from kernels.substrate.columns import GENERATIONS, KINDS, ROWS_MAX, TOUCH, WAKE, BufferFacts, Columns, Ints, Tables
from kernels.substrate.stored_rows import StoredRows
from kernels.substrate.trace_columns import FORMAT, FRAME, HEAD, MAGIC

_BODY_MAX_BYTES = 1 << 30

# Columns by their length: of rows, of accesses, of intervals; the others are told by a column of counts.
_OF_ROWS = (
    *("kind", "number", "stream", "thread", "label", "event", "generation", "other", "answer"),
    *("access_count", "wake_count", "issue", "start", "end", "delay", "point", "layer", "io", "site", "site_count"),
)
_OF_ACCESSES = ("write", "buffer", "layers", "pages")
_OF_TEXTS = ("stream", "thread", "label", "event", "other", "point", "io", "site", "buffer", "access_site")
_FOR_ORDER = (
    *("number", "stream", "thread", "label", "event", "generation", "other"),
    *("access_count", "buffer", "layers", "pages", "wake_count", "wake"),
)
_COUNTED = {
    **dict.fromkeys(_OF_ACCESSES, "access_count"),
    "wake": "wake_count",
    "access_site": "site_count",
    "list_begin": "list_count",
    "list_length": "list_count",
}

Fields = dict[str, NDArray[Any]]


class _Misfit(Exception):
    """This block cannot be understood. Never leaves this module."""


class ColumnReader:
    """The blocks of one file. After them, `problem` says why the file cannot be trusted, and is empty where it can.

    header: of the file. stale_rows: of the block that came last, by their index in it.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.tables = Tables()
        self.problem = ""
        self.row_count = 0
        self.header: dict[str, Any] = {}
        self.stale_rows: dict[int, dict[str, Any]] = {}
        self._file = file
        self._buffers: dict[str, BufferFacts] = {}

    def __repr__(self) -> str:
        return f"ColumnReader(rows={self.row_count})"

    def __iter__(self) -> Iterator[Columns]:
        """The rows, block by block, up to the first block that cannot be understood."""
        at = len(MAGIC)
        try:
            self._file.seek(0)
            if self._file.read(len(MAGIC)) != MAGIC:
                raise _Misfit("the file does not begin as one of columns")
            header, _, size = self._block()
            if header.get("block") != "header" or header.get("format") != FORMAT:
                raise _Misfit(f"the first block must be a header with format {FORMAT}, not {header}")
            self.header, self.row_count = header, 1
            while True:
                at += size
                header, fields, size = self._block()
                if header.get("block") == "end":
                    break
                yield self._rows(header, fields)
            if header.get("rows") != self.row_count:
                raise _Misfit(f"the closing block counts {header.get('rows')} rows, there are {self.row_count}")
            at += size
            if self._file.read(1):
                raise _Misfit("there is something behind the closing block")
        except _Misfit as misfit:
            self.problem = f"{misfit} (byte {at:,})"

    def _block(self) -> tuple[dict[str, Any], Fields, int]:
        frame = self._file.read(FRAME.size)
        if len(frame) < FRAME.size:
            raise _Misfit("the trace ends without its closing block: it is truncated")
        length, checksum = FRAME.unpack(frame)
        if not HEAD.size <= length <= _BODY_MAX_BYTES:
            raise _Misfit(f"a block of {length:,} bytes cannot be")
        body = self._file.read(length)
        if len(body) < length:
            raise _Misfit(f"the trace ends within a block, {length - len(body):,} bytes early: it is truncated")
        if crc32(body) != checksum:
            raise _Misfit("a block is damaged: its bytes do not fit its checksum")
        (head,) = HEAD.unpack_from(body)
        try:
            header = orjson.loads(body[HEAD.size : HEAD.size + head])
            return header, _fields(header["columns"], memoryview(body)[HEAD.size + head :]), FRAME.size + length
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
            raise _Misfit(f"a block's header cannot be read: {error!r}") from None

    def _rows(self, header: dict[str, Any], fields: Fields) -> Columns:
        try:
            first, count = int(header["first"]), int(header["rows"])
            new_texts = [str(text) for text in header["texts"]]
            new_layers = [tuple(int(layer) for layer in layers) for layers in header["layers"]]
            buffers = [(int(index), BufferFacts(**facts)) for index, facts in header["buffers"]]
            self.stale_rows = {int(index): dict(row) for index, row in header["stale"]}
        except (KeyError, TypeError, ValueError) as error:
            raise _Misfit(f"a block's header cannot be read: {error!r}") from None
        if header.get("block") != "rows" or first != self.row_count + 1 or not 0 < count <= ROWS_MAX:
            raise _Misfit(
                f"a block of rows from {self.row_count + 1} must come here, not {header.get('block')} {first}"
            )
        tables = self.tables
        for text in new_texts:
            tables.texts[text]
        for layers in new_layers:
            tables.layers[layers]
        _check_shapes(fields, count)
        begin = fields["list_begin"].astype(np.int64)
        tables.page_lists.extend(begin, begin + fields["list_length"], fields["list_count"].astype(np.int64))
        self._check_values(fields)
        self._buffers |= {facts.name: facts for _, facts in buffers}
        self.row_count += count
        as_ints: dict[str, Ints] = {name: fields[name].astype(np.int64) for name in _FOR_ORDER}
        return Columns(
            first_row=first,
            kind=fields["kind"],
            answer=fields["answer"] != 0,
            write=fields["write"] != 0,
            buffers=buffers,
            rows=StoredRows(fields, tables, dict(self._buffers)),
            **as_ints,
        )

    def _check_values(self, fields: Fields) -> None:
        """Every number must mean something."""
        tables = self.tables
        limits = {
            **dict.fromkeys(_OF_TEXTS, len(tables.texts)),
            "layers": len(tables.layers),
            "pages": len(tables.page_lists),
            "kind": len(KINDS),
            "generation": GENERATIONS,
            **dict.fromkeys(("answer", "write"), 2),
        }
        for name, limit in limits.items():
            column = fields[name]
            if len(column) and (int(column.min()) < 0 or int(column.max()) >= limit):
                raise _Misfit(f"the column '{name}' has numbers beyond 0 to {limit - 1}")
        if np.any((fields["kind"] == WAKE) & (fields["wake_count"] != 1)):
            raise _Misfit("a wake must have one number")
        if np.any((fields["kind"] > TOUCH) & (fields["access_count"] != 0)):
            raise _Misfit("a row that is neither copy, kernel nor touch has accesses")


def _fields(columns: Any, data: memoryview) -> Fields:
    """The columns of a block by name; one that is stored as a single value is as long as it says."""
    fields: Fields = {}
    at = 0
    for name, kind, stored, count in columns:
        values = np.frombuffer(data, np.dtype(kind), stored, at)
        at += values.nbytes
        if values.dtype.kind not in "iu" or stored not in (1, count):
            raise ValueError(f"column {name} is no column of integers")
        fields[name] = values if stored == count else np.broadcast_to(values, (count,))
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes belong to no column")
    return fields


def _check_shapes(fields: Fields, count: int) -> None:
    missing = [name for name in (*_OF_ROWS, *_COUNTED, "list_count") if name not in fields]
    if missing:
        raise _Misfit(f"a block has no column '{missing[0]}'")
    for name in _OF_ROWS:
        if len(fields[name]) != count:
            raise _Misfit(f"the column '{name}' has {len(fields[name])} values for {count} rows")
    for name, told in _COUNTED.items():
        if int(fields[told].min(initial=0)) < 0 or int(fields[told].sum(dtype=np.int64)) != len(fields[name]):
            raise _Misfit(f"the column '{name}' has {len(fields[name])} values, which is not what '{told}' says")
    if len(fields["list_length"]) and (int(fields["list_length"].min()) < 1 or int(fields["list_begin"].min()) < 0):
        raise _Misfit("a list of pages has an empty interval, or one below 0")
