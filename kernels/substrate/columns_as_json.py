"""A stored trace of columns as the JSON Lines that the same run would have written.

Owns: the lines. Does not own: either format (`trace_json.py`, `read_columns.py`). Floor 1.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import numpy as np
import orjson

from kernels.substrate.columns import BUFFER, STALE, TOUCH, WAIT, BufferFacts, Columns
from kernels.substrate.read_columns import ColumnReader
from kernels.substrate.stored_rows import StoredRows
from kernels.substrate.trace_json import FORMAT, Row, access_json, operation_row, step_row


def json_lines(reader: ColumnReader, numbers: Container[int] | None = None) -> Iterator[bytes]:
    """All lines up to the first block that cannot be understood; the closing line only where there is none.

    numbers: only the operations with these numbers in host issue order, and the buffers.
    """
    is_begun = False
    for columns in reader:
        if not is_begun:
            yield _line(_header(reader))
        is_begun = True
        chosen = range(len(columns)) if numbers is None else _chosen(columns, numbers)
        buffers = dict(columns.buffers)
        for index in chosen:
            yield _line(_row(columns, index, buffers, reader))
    if not reader.problem:
        if not is_begun:
            yield _line(_header(reader))
        yield _line({"row": "end", "rows": reader.row_count})


def _header(reader: ColumnReader) -> Row:
    told = reader.header
    return {
        "row": "header",
        "format": FORMAT,
        "time_unit": "ns",
        "program": told.get("program"),
        "seed": told.get("seed"),
    }


def _chosen(columns: Columns, numbers: Container[int]) -> list[int]:
    at = np.flatnonzero((columns.kind <= WAIT) | (columns.kind == BUFFER)).tolist()
    return [index for index in at if columns.kind[index] == BUFFER or int(columns.number[index]) in numbers]


def _row(columns: Columns, index: int, buffers: dict[int, BufferFacts], reader: ColumnReader) -> Row:
    kind, rows = int(columns.kind[index]), columns.rows
    assert isinstance(rows, StoredRows), f"a stored block has stored rows, not {rows}"
    if kind == BUFFER:
        return _buffer(buffers[index])
    if kind == STALE:
        return reader.stale_rows[index]
    if kind > WAIT:
        return step_row(rows.step(index))
    operation = rows.operation(index)
    accesses = [
        access_json(one.is_write, one.buffer, one.layers, one.intervals, by="bytes" if one.by_bytes else "pages")
        for one in rows.accesses(index)
    ]
    if kind != TOUCH:
        return operation_row(operation, accesses)
    row: Row = {"row": "touch", "op": operation.ordinal, "thread": operation.thread, "label": operation.label}
    row |= {"time": operation.start_ns, "accesses": accesses}
    return row | ({"site": operation.site} if operation.site else {})


def _buffer(facts: BufferFacts) -> Row:
    row: Row = {"row": "buffer", "name": facts.name, "space": facts.space}
    if facts.pages or not facts.size_bytes:
        return row | {"layers": facts.layers, "pages": facts.pages, "page_bytes": facts.page_bytes}
    return row | {"bytes": facts.size_bytes}


def _line(row: Row) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
