"""Stored traces of either format, told apart by what is in the file, not by its name.

Owns: which reader a file gets, and conversion. Does not own: the readers, order (detector). Floor 2b.
Format: docs/trace-format.md.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain
from typing import Any, BinaryIO

import orjson

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Problem
from kernels.races.detector.reading import judge_lines, read_lines
from kernels.substrate.columns_as_json import json_lines
from kernels.substrate.read_columns import ColumnReader
from kernels.substrate.trace_columns import MAGIC, ColumnTrace


def is_columns(file: BinaryIO) -> bool:
    """Whether a file, from its beginning, is one of columns."""
    start = file.read(len(MAGIC))
    file.seek(0)
    return start == MAGIC


def judge_file(file: BinaryIO) -> Detector:
    """Judge a stored trace in a file that can be sought in. Reads to its end, or to the first row that breaks it.

    Returns: a detector whose `problems` say where and why the trace is truncated or foreign.
    """
    if not is_columns(file):
        return judge_lines(file)
    reader = ColumnReader(file)
    detector = Detector(reader.tables)
    for columns in reader:
        detector.judge(columns)
    if reader.problem:
        detector.give_up(reader.row_count + 1, reader.problem)
    return detector


def lines_of(file: BinaryIO, numbers: Container[int] | None = None) -> Iterator[bytes]:
    """The lines of a stored trace of either format that was judged before.

    numbers: of columns, only the operations with these numbers in host issue order, and the buffers.
    """
    return json_lines(ColumnReader(file), numbers) if is_columns(file) else iter(file)


def to_lines(file: BinaryIO, out: BinaryIO) -> Problem | None:
    """Columns to JSON Lines. Returns: where and why the trace is truncated or foreign; then `out` is truncated too."""
    reader = ColumnReader(file)
    out.writelines(json_lines(reader))
    return Problem(reader.row_count + 1, reader.problem) if reader.problem else None


def to_columns(lines: Iterable[bytes], out: BinaryIO) -> Problem | None:
    """JSON Lines to columns. Returns: line and reason where the trace is truncated or foreign; then `out` is too."""
    every = iter(lines)
    first = next(every, b"")
    trace = ColumnTrace(out, **_named(first))
    problem = read_lines(chain([first] if first else [], every), trace)
    if problem is None:
        trace.finish()
    return problem


def _named(line: bytes) -> dict[str, Any]:
    """Program and seed as a header tells them; nothing where it is none, which the reader will tell."""
    try:
        header = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(header, dict):
        return {}
    return {"program": header.get("program", ""), "seed": header.get("seed")}
