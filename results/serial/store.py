"""The serial check in a run folder: its record, and every reply with its raw text.

Owns: the two files. Does not own: their fields (`record`). Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from results import layout
from results.lines import LineFault, encode_line, read_lines
from results.schema_version import schema_fault
from results.serial.record import SCHEMA, SerialRecord, SerialReply

RECORD = "divergence.json"
REPLIES = "serial.jsonl"


def write_serial(folder: Path, record: SerialRecord, replies: Iterable[SerialReply]) -> None:
    """Effect: the replies first, so that a record that reads back has them. Raises: StorageProblem."""
    lines = b"".join(map(encode_line, replies))
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    layout.replace_file(folder / REPLIES, lambda path: _write(path, lines))
    layout.replace_file(folder / RECORD, lambda path: _write(path, text))


def read_serial(folder: Path) -> tuple[SerialRecord | None, str | None]:
    """The record, or None; and why not, where there is one that cannot be read."""
    path = folder / RECORD
    if not path.exists():
        return None, None
    text = path.read_bytes()
    fault = schema_fault(text, SCHEMA, path)
    if fault is not None:
        return None, fault
    try:
        return msgspec.json.decode(text, type=SerialRecord), None
    except msgspec.MsgspecError as error:
        return None, f"{RECORD} cannot be read ({error})"


def read_replies(folder: Path) -> tuple[list[SerialReply], list[LineFault]]:
    return read_lines(folder / REPLIES, SerialReply)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
