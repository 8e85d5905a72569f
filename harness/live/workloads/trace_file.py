"""A trace's file: one pass over all of it, and any row again by its place.

Owns: places of lines, packed files, Parquet. Does not own: what a row means (`trace_rows.py`). Floor 5. Source: ours.
All that is kept of a row is its head: a trace of a million requests must fit into memory.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from harness.live.workloads.entries import KEY, UNREADABLE, Entry, kind_of, unreadable
from harness.live.workloads.trace_rows import RowHead, is_usable, read_head
from kernels.errors import ConfigError

_ROWS_AT_ONCE: Final = 1_024


class TraceFile:
    """Raises, when it is made: ConfigError for a file that is missing, empty or not one object a line."""

    def __init__(self, path: Path, left_out: Counter[str]) -> None:
        self.path = path
        self._stream = _plain(path)
        # Rows are looked up for as long as somebody holds the trace.
        weakref.finalize(self, self._stream.close)
        self.heads: list[RowHead] = []
        for offset, entry in self._all():
            if is_usable(entry, left_out):
                self.heads.append(read_head(entry, offset))
        if not self.heads:
            raise ConfigError("this trace holds no row that can be replayed", key=KEY, file=path)

    def __repr__(self) -> str:
        return f"TraceFile({self.path}, {len(self.heads)} rows)"

    def entry(self, head: RowHead) -> Entry:
        self._stream.seek(head.offset)
        return Entry(self.path, head.line, msgspec.json.decode(self._stream.readline()))

    def _all(self) -> Iterator[tuple[int, Entry]]:
        offset = 0
        for line, raw in enumerate(self._stream, start=1):
            if raw.strip():
                yield offset, Entry(self.path, line, _decoded(raw, self.path, line))
            offset += len(raw)


def _decoded(raw: bytes, path: Path, line: int) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise ConfigError(f"not JSON: {problem}", key=KEY, file=path, line=line) from None
    if not isinstance(value, dict):
        raise ConfigError(f"a row must be a JSON object, not {kind_of(value)}", key=KEY, file=path, line=line)
    return value


def _plain(path: Path) -> IO[bytes]:
    """The rows as lines that can be looked up: packed and Parquet files are unpacked into one that has no name."""
    unpack = {".gz": _unpack, ".parquet": _unpack_parquet}.get(path.suffix)
    with ExitStack() as stack:
        try:
            if unpack is None:
                return path.open("rb")
            unpacked = stack.enter_context(tempfile.TemporaryFile())
            unpack(path, unpacked)
        except UNREADABLE as problem:
            raise unreadable(path, problem) from None
        unpacked.seek(0)
        # It is whole, and closed by whoever reads it.
        stack.pop_all()
        return unpacked


def _unpack(path: Path, unpacked: IO[bytes]) -> None:
    with gzip.open(path, "rb") as packed:
        shutil.copyfileobj(packed, unpacked)


def _unpack_parquet(path: Path, unpacked: IO[bytes]) -> None:
    import pyarrow
    import pyarrow.parquet

    try:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(_ROWS_AT_ONCE):
            for row in batch.to_pylist():
                # A column that a row does not use is no field of that row.
                fields = {name: value for name, value in row.items() if value is not None}
                unpacked.write(msgspec.json.encode(fields) + b"\n")
    except pyarrow.ArrowException as problem:
        raise ConfigError(f"not a Parquet file: {problem}", key=KEY, file=path) from None
