"""The folder of a capture while it grows.

Owns: the order of writes, so that a capture that dies at any moment reads back. Does not own: the format (`record.py`),
secrets: what comes here is clean. Floor 5. Source: ours.

A line is handed to the operating system when its exchange has ended, so a crash of this process loses nothing that had
ended; the disk has it for certain (fsync) when the capture ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.capture.record import CAPTURE, EXCHANGES, CaptureHeader, Exchange
from results.errors import StorageProblem
from results.layout import new_run_folder, replace_file
from results.lines import LineFile


class CaptureWriter:
    """Open for writing from the beginning; `close` once."""

    def __init__(self, root: Path, stamp: str, header: CaptureHeader) -> None:
        """Effect: makes the folder. Raises: StorageProblem."""
        self.path = new_run_folder(root, f"{stamp}-capture")
        _write_header(self.path, header)
        self._lines = LineFile(self.path / EXCHANGES)

    def __repr__(self) -> str:
        return f"CaptureWriter({self.path.name})"

    @property
    def stored_bytes(self) -> int:
        return self._lines.whole_bytes

    def append(self, exchange: Exchange) -> None:
        """Raises: StorageProblem."""
        self._lines.append(exchange)

    def close(self, header: CaptureHeader, spelled: Sequence[tuple[bytes, bytes]]) -> None:
        """Effect: secrets that were recognised after they had been written are taken out of the lines before.

        Raises: StorageProblem.
        """
        self._lines.close(sync=True)
        _clean(self.path / EXCHANGES, spelled)
        _write_header(self.path, header)


def _write_header(folder: Path, header: CaptureHeader) -> None:
    text = msgspec.json.format(msgspec.json.encode(header), indent=2) + b"\n"
    replace_file(folder / CAPTURE, lambda beside: _write(beside, text))


def _write(path: Path, text: bytes) -> None:
    path.write_bytes(text)


def _clean(path: Path, spelled: Sequence[tuple[bytes, bytes]]) -> None:
    try:
        with path.open("rb") as lines:
            is_clean = not any(secret in line for line in lines for secret, _ in spelled)
    except OSError as error:
        raise StorageProblem(path, error) from error
    if not is_clean:
        replace_file(path, lambda beside: _write_clean(path, beside, spelled))


def _write_clean(path: Path, beside: Path, spelled: Sequence[tuple[bytes, bytes]]) -> None:
    with path.open("rb") as lines, beside.open("wb") as cleaned:
        for line in lines:
            for secret, stand_in in spelled:
                line = line.replace(secret, stand_in)
            cleaned.write(line)
