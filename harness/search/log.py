"""The records of a campaign as a file that is only appended to: `runs.jsonl`, one line a finished run.

Owns: appending, reading back, and a torn last line. Does not own: which records are wanted (`campaign`). Floor 5.
Source: the form of a line is that of run folders (`results.lines`).
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from harness.search.record import RunRecord
from results.errors import StorageProblem
from results.lines import encode_line, read_lines

LOG_NAME = "runs.jsonl"


class RunLog:
    """The log of one folder. `with RunLog(folder) as log:` makes the folder, and opens the file for appending.

    A last line without its end was cut off while it was written: it is cut away, and that run is made again.
    """

    def __init__(self, folder: Path) -> None:
        """Raises: StorageProblem where the folder or the file cannot be written."""
        self.path = folder / LOG_NAME
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise StorageProblem(self.path, error) from error
        self._whole_bytes = self._cut_torn_line()
        records, faults = read_lines(self.path, RunRecord)
        self.records = records
        self.damaged_count = len(faults)

    def __repr__(self) -> str:
        return f"RunLog({self.path}, {len(self.records)} runs, {self._whole_bytes} bytes)"

    def __enter__(self) -> RunLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def append(self, record: RunRecord) -> None:
        """Hand one line to the operating system before returning. Raises: StorageProblem; no half line stays."""
        line = encode_line(record)
        is_whole = False
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            is_whole = True
        except OSError as error:
            raise StorageProblem(self.path, error) from error
        finally:
            if is_whole:
                self._whole_bytes += len(line)
            else:
                os.ftruncate(self._descriptor, self._whole_bytes)
        self.records.append(record)

    def _cut_torn_line(self) -> int:
        content = self.path.read_bytes()
        whole_bytes = content.rfind(b"\n") + 1
        if whole_bytes < len(content):
            os.ftruncate(self._descriptor, whole_bytes)
        return whole_bytes
