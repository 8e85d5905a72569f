"""A log that is followed while a run goes on, from where its end was when the run began.

Owns: the file, also where it is rotated, cut short or not there for a while. Does not own: its lines (`lines.py`).
Floor 5. Source: ours. Everything here may block and is called in a thread: a log that grows fast must not make the
client late.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from harness.live.server_logs.lines import LogLines
from kernels.errors import ConfigError

_PIECE_BYTES: Final = 64 * 1024
_POLL_BYTES_MAX: Final = 16 * 1024 * 1024
_QUIET_POLLS: Final = 8
"""So often a renamed file must have had nothing new before it is left: servers write on in it until they are told."""
_GZIP: Final = b"\x1f\x8b"


class LogTail:
    """Open at once. now_s: seconds since 1970. rotations: how often another file, or a shorter one, stood there.

    Raises: ConfigError for what is no file that can be read.
    """

    def __init__(self, path: Path, lines: LogLines, now_s: Callable[[], float]) -> None:
        self.path = path
        self.lines = lines
        self.rotations = 0
        self.note = ""
        self._now_s = now_s
        self._next: BinaryIO | None = None
        self._quiet_polls = 0
        self._is_closing = False
        self._file = opened(path)
        self._file.seek(0, os.SEEK_END)

    def __repr__(self) -> str:
        return f"LogTail({self.path}, {self.lines})"

    def poll(self) -> None:
        """Read what has come. A file that cannot be read any more is said in `note`, and tried again."""
        read = 0
        try:
            while read < _POLL_BYTES_MAX:
                piece = self._file.read(_PIECE_BYTES)
                read += len(piece)
                if piece:
                    self._quiet_polls = 0
                    self.lines.feed(piece, self._now_s())
                elif not self._rotated():
                    return
        except OSError as problem:
            self.note = f"could not be read on: {problem.strerror or problem}"

    def close(self) -> None:
        self._is_closing = True
        self.poll()
        self.lines.close(self._now_s())
        for file in (self._file, self._next):
            if file is not None:
                file.close()

    def _rotated(self) -> bool:
        """Whether there is another beginning to read from. The old file has been read to its end by then."""
        if self._next is not None:
            return self._left_for(self._next)
        try:
            found, held = os.stat(self.path), os.fstat(self._file.fileno())
        except FileNotFoundError:
            # Between the renaming of the old file and the making of the new one.
            return False
        if (found.st_ino, found.st_dev) != (held.st_ino, held.st_dev):
            # Opened at once: it may be renamed in its turn before it is read.
            self._next = self.path.open("rb")
            self._quiet_polls = 0
            self.rotations += 1
            return self._left_for(self._next)
        if found.st_size < self._file.tell():
            self._file.seek(0)
            self.rotations += 1
            self.lines.close(self._now_s())
            return True
        return False

    def _left_for(self, new: BinaryIO) -> bool:
        """Whether the old file is left for the new one, which is read from its beginning: nothing of it is lost."""
        self._quiet_polls += 1
        is_over = os.fstat(new.fileno()).st_size > 0 and self._quiet_polls > _QUIET_POLLS
        if not is_over and not self._is_closing:
            return False
        self.lines.close(self._now_s())
        self._file.close()
        self._file, self._next = new, None
        return True


def opened(path: Path) -> BinaryIO:
    """A log, for reading. Raises: ConfigError that says why it is none."""
    if not path.is_file():
        why = "is a folder" if path.is_dir() else "is no file" if path.exists() else "does not exist"
        raise ConfigError(f"the log '{path}' {why}", key="--server-log", value=str(path))
    try:
        file = path.open("rb")
    except OSError as problem:
        what = f"the log '{path}' cannot be read: {problem.strerror}"
        raise ConfigError(what, key="--server-log", value=str(path)) from None
    if file.read(2) == _GZIP:
        file.close()
        raise ConfigError(f"the log '{path}' is compressed; unpack it first", key="--server-log", value=str(path))
    file.seek(0)
    return file
