"""The log: what was appended reads back, whatever cut it off."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from harness.search.log import LOG_NAME, RunLog
from results.errors import StorageProblem
from tests.harness.search.record_builder import record


def test_appended_records_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    written = [record(0, 3), record(1, session_rate=None, turns_by_stale_layers={0: (3, 0), 12: (4, 2)})]
    with RunLog(folder) as log:
        assert log.records == []
        for one in written:
            log.append(one)
    with RunLog(folder) as log:
        assert log.records == written
        log.append(record(2))
    with RunLog(folder) as log:
        assert log.records == [*written, record(2)]


def test_line_is_in_the_file_before_append_returns(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        log.append(record(0))
        assert (tmp_path / LOG_NAME).read_bytes().count(b"\n") == 1


@pytest.mark.parametrize("cut", [1, 20, 300])
def test_torn_last_line_is_cut_away(tmp_path: Path, cut: int) -> None:
    with RunLog(tmp_path) as log:
        log.append(record(0))
        log.append(record(1))
    path = tmp_path / LOG_NAME
    path.write_bytes(path.read_bytes()[:-cut])
    with RunLog(tmp_path) as log:
        assert log.records == [record(0)]
        log.append(record(1))
    with RunLog(tmp_path) as log:
        assert (log.records, log.damaged_count) == ([record(0), record(1)], 0)


def test_damaged_line_is_left_out_and_counted(tmp_path: Path) -> None:
    with RunLog(tmp_path) as log:
        log.append(record(0))
        log.append(record(1))
    path = tmp_path / LOG_NAME
    path.write_bytes(path.read_bytes().replace(b'"seed":0', b'"seed":"', 1))
    with RunLog(tmp_path) as log:
        assert (log.records, log.damaged_count) == ([record(1)], 1)


def test_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def half(descriptor: int, line: bytes) -> int:
        if len(line) < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, line[: len(line) - 50])

    with RunLog(tmp_path) as log:
        log.append(record(0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            with pytest.raises(StorageProblem, match="is full"):
                log.append(record(1))
        log.append(record(2))
    with RunLog(tmp_path) as log:
        assert (log.records, log.damaged_count) == ([record(0), record(2)], 0)


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StorageProblem, match="cannot be written"):
        RunLog(tmp_path / "file" / "folder")
