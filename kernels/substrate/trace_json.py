"""The trace as text: JSON Lines, format `kvrace-trace/1`, written while the machine runs.

Owns: the writer. Does not own: the reader and its checks (races, floor 2b). Floor 1. Format: docs/trace-format.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

import numpy as np
import orjson

from kernels.substrate.contract import Buffer, PageView
from kernels.substrate.trace import HostStep, Operation, page_intervals

FORMAT = "kvrace-trace/1"

Row = dict[str, object]


class JsonLinesTrace:
    """Writes one JSON object a line to an open binary file, which stays the caller's to close.

    A complete trace ends with the line that `finish` writes; a reader that does not find it has a truncated file.
    """

    wants_call_sites = True

    def __init__(self, out: BinaryIO, *, program: str = "", seed: int | None = None) -> None:
        self._out = out
        self.row_count = 0
        self._write({"row": "header", "format": FORMAT, "time_unit": "ns", "program": program, "seed": seed})

    def __repr__(self) -> str:
        return f"JsonLinesTrace(rows={self.row_count})"

    def buffer(self, buffer: Buffer) -> None:
        self._write(
            {
                "row": "buffer",
                "name": buffer.name,
                "space": buffer.space,
                "layers": buffer.layer_count,
                "pages": buffer.page_count,
                "page_bytes": buffer.page_bytes,
            }
        )

    def operation(self, operation: Operation) -> None:
        accesses = [
            access_json(is_write, region.buffer.name, region.layers, page_intervals(region.pages))
            for is_write, region in operation.accesses
        ]
        self._write(operation_row(operation, accesses))

    def host(self, step: HostStep) -> None:
        self._write(step_row(step))

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        self._write(stale_row(operation, read_index, view))

    def abandon(self) -> None:
        """Leave the closing line out: a reader sees that the trace was cut short."""

    def finish(self) -> None:
        """Write the closing line. Effect: nothing may be written after it."""
        self._write({"row": "end", "rows": self.row_count})

    def _write(self, row: Row) -> None:
        self._out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        self.row_count += 1


def operation_row(operation: Operation, accesses: Sequence[Row]) -> Row:
    row: Row = {
        "row": operation.kind,
        "op": operation.ordinal,
        "stream": operation.stream,
        "thread": operation.thread,
        "label": operation.label,
        "issue": operation.issue_ns,
        "start": operation.start_ns,
        "end": operation.end_ns,
    }
    if operation.kind in ("record", "wait"):
        row["event"] = operation.event
        row["generation"] = operation.generation
    else:
        row["point"] = operation.point
        row["layer"] = operation.layer
        row["delay"] = operation.delay_ns
        row["accesses"] = accesses
    if operation.io:
        row["io"] = operation.io
    if operation.site:
        row["site"] = operation.site
        # Only where it says more than the operation's own.
        if any(site != operation.site for site in operation.access_sites):
            row["access_sites"] = operation.access_sites
    return row


def access_json(
    is_write: bool, buffer: str, layers: Sequence[int], intervals: Sequence[tuple[int, int]], *, by: str = "pages"
) -> Row:
    """by: `pages`, or `bytes` for a buffer without pages."""
    return {"mode": "write" if is_write else "read", "buffer": buffer, "layers": layers, by: intervals}


def step_row(step: HostStep) -> Row:
    row: Row = {"row": step.kind, "thread": step.thread, "time": step.time_ns, "issued": step.issued}
    if step.event:
        row["event"] = step.event
        row["generation"] = step.generation
    if step.kind == "query":
        row["answer"] = step.answer
    if step.other:
        row["other"] = step.other
    if step.wakes:
        row["wakes"] = step.wakes
    return row


def stale_row(operation: Operation, read_index: int, view: PageView) -> Row:
    layer_at, page_at = np.nonzero(view.stale)
    return {
        "row": "stale",
        "op": operation.ordinal,
        "read": read_index,
        "buffer": view.region.buffer.name,
        # One entry a page: [layer, page, wanted, head, tail, tear].
        "pages": [
            [
                view.region.layers[i],
                int(view.region.pages[j]),
                int(view.wanted[i, j]),
                int(view.head[i, j]),
                int(view.tail[i, j]),
                round(float(view.tear[i, j]), 6),
            ]
            for i, j in zip(layer_at.tolist(), page_at.tolist(), strict=True)
        ],
    }
