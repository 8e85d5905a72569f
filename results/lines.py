"""Append-only files of JSON lines that survive a crash at any byte.

Owns: encoding of one record as one line; a line is whole when its newline is there, and only then. Does not own:
which files a run has (`store`, `reader`). Floor 3. Source: ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from results.errors import StorageProblem
from results.records import TurnRecord

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line that could not be read back, or lines that ought to be there and are not. `line` counts from 1."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


def encode_line(record: object) -> bytes:
    """One record as one JSON line with its newline. Half a surrogate pair is kept as its escape, in plain text."""
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        # A reply may hold half a surrogate pair, which UTF-8 cannot store. Spelling it out keeps the evidence and
        # does not look like a replacement character, which would be taken for corruption.
        return msgspec.json.encode(_spelled_out(msgspec.to_builtins(record))) + b"\n"


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_spelled_out(key): _spelled_out(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled_out(item) for item in value]
    return value


class LineFile:
    """A file that is only appended to. A write that fails midway is cut back, so no half line stays behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._whole_bytes = 0
        self._is_broken = False
        try:
            self._descriptor: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except OSError as error:
            raise StorageProblem(path, error) from error

    def __repr__(self) -> str:
        return f"LineFile({self.path.name}, {self._whole_bytes} bytes whole, broken={self._is_broken})"

    @property
    def whole_bytes(self) -> int:
        """Of all lines that are written whole."""
        return self._whole_bytes

    def append(self, record: object) -> None:
        """Write one line and hand it to the operating system before returning.

        Effect: a crash of this process after the call cannot lose the line; a power cut may (see `sync`).
        Raises: StorageProblem where it cannot be written; the file then ends with the line before.
        """
        assert self._descriptor is not None, f"{self.path} is closed"
        assert not self._is_broken, f"{self.path} could not be written before"
        line = encode_line(record)
        is_whole = False
        try:
            self._write(self._descriptor, line)
            is_whole = True
        except OSError as error:
            raise StorageProblem(self.path, error) from error
        finally:
            # Not only for errors of the disk: Ctrl-C may strike between two pieces of a line.
            if is_whole:
                self._whole_bytes += len(line)
            else:
                self._is_broken = True
                os.ftruncate(self._descriptor, self._whole_bytes)

    @staticmethod
    def _write(descriptor: int, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def close(self, *, sync: bool) -> None:
        """Close the file; with `sync`, wait until the disk has it. A second call does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            if sync:
                os.fsync(descriptor)
        except OSError as error:
            raise StorageProblem(self.path, error) from error
        finally:
            os.close(descriptor)


def read_lines(path: Path, record_type: type[Record]) -> tuple[list[Record], list[LineFault]]:
    """Read back every whole line; name each one that is torn or damaged, and skip it.

    A file that is not there is one fault.
    """
    records: list[Record] = []
    faults: list[LineFault] = []
    try:
        with path.open("rb") as stream:
            for _, one in each_line(stream, path.name, record_type):
                if isinstance(one, LineFault):
                    faults.append(one)
                else:
                    records.append(one)
    except FileNotFoundError:
        return [], [LineFault(path.name, 1, "the file is missing")]
    return records, faults


def each_line(stream: IO[bytes], name: str, record_type: type[Record]) -> Iterator[tuple[int, Record | LineFault]]:
    """Line after line, with the place of its first byte, for files that may be larger than memory.

    A last line without its newline is torn, even where its JSON happens to be complete: only the newline says that
    the writer had finished with it.
    """
    decoder = msgspec.json.Decoder(record_type)
    begin = 0
    for number, line in enumerate(stream, start=1):
        if not line.endswith(b"\n"):
            reason = f"torn last line ({len(line)} bytes, no newline): the run was cut off while it was written"
            yield begin, LineFault(name, number, reason)
            return
        try:
            record: Record | LineFault = decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, AssertionError) as error:
            record = LineFault(name, number, f"damaged line ({error})")
        yield begin, record
        begin += len(line)


def without_raw(turn: TurnRecord) -> TurnRecord:
    return replace(turn, raw=None) if turn.raw is not None else turn
