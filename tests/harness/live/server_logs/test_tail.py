"""A log that is followed: cut anywhere, rotated, shortened, gone, full of garbage. No line is lost or doubled."""

from __future__ import annotations

import asyncio
import gzip
import os
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from harness.live.credentials import Scrubber
from harness.live.server_logs.following import FollowedLogs
from harness.live.server_logs.lines import KEPT_MAX, LINE_BYTES_MAX, LogLines
from harness.live.server_logs.tail import LogTail
from harness.live.server_logs.zones import ZoneGuess
from harness.load.clock import WallClock
from kernels.errors import ConfigError

NOW_S = 1_767_323_045.0
LINE = "[2026-01-02 03:04:05 TP0] KV checksum mismatch req=r{} expected=0x1 got=0x2\n"


def log_lines(scrub: Scrubber | None = None) -> LogLines:
    return LogLines("a.log", ZoneGuess(), about_s=NOW_S, scrub=(scrub or Scrubber([])).text)


def tail_of(path: Path) -> LogTail:
    return LogTail(path, log_lines(), lambda: NOW_S)


def polled(tail: LogTail) -> None:
    """As often as it takes until a renamed file is given up."""
    for _ in range(20):
        tail.poll()


def names(lines: LogLines) -> list[str]:
    return [line.text.partition("req=")[2].partition(" ")[0] for line in lines.seen]


def test_only_what_comes_after_the_start_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LINE.format(0))
    tail = tail_of(path)
    with path.open("a") as log:
        for number in range(1, 4):
            log.write(LINE.format(number)[:30])
            log.flush()
            tail.poll()
            log.write(LINE.format(number)[30:])
            log.flush()
            tail.poll()
    tail.close()
    assert names(tail.lines) == ["r1", "r2", "r3"]
    assert tail.lines.line_count == 3
    assert tail.rotations == 0


def test_rotation_by_renaming_and_by_cutting(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("old\n")
    tail = tail_of(path)
    with path.open("a") as log:
        log.write(LINE.format(1))
    tail.poll()
    # Renamed with lines in it that nobody has read yet, then made anew.
    with path.open("a") as log:
        log.write(LINE.format(2))
    path.rename(tmp_path / "a.log.1")
    tail.poll()
    with (tmp_path / "a.log.1").open("a") as log:
        log.write(LINE.format(3))
    path.write_text(LINE.format(4))
    polled(tail)
    assert (names(tail.lines), tail.rotations) == (["r1", "r2", "r3", "r4"], 1)
    # copytruncate: the same file, shorter than what was read of it.
    os.truncate(path, 0)
    with path.open("a") as log:
        log.write("x\n")
    tail.poll()
    with path.open("a") as log:
        log.write(LINE.format(5).rstrip("\n"))
    tail.close()
    assert (names(tail.lines), tail.rotations) == (["r1", "r2", "r3", "r4", "r5"], 2)
    assert tail.note == ""


def test_what_is_written_into_a_renamed_file_is_read(tmp_path: Path) -> None:
    """logrotate renames, makes the new file, and only then tells the server, which has the old one open until then."""
    path = tmp_path / "a.log"
    path.write_text("")
    tail = tail_of(path)
    with path.open("a") as old:
        old.write(LINE.format(1))
        old.flush()
        path.rename(tmp_path / "a.log.1")
        path.touch()
        # However long the server has nothing to say: nobody has begun the new file.
        polled(tail)
        assert (names(tail.lines), tail.rotations) == (["r1"], 1)
        old.write(LINE.format(2)[:30])
        old.flush()
        tail.poll()
        path.write_text(LINE.format(4))
        tail.poll()
        old.write(LINE.format(2)[30:] + LINE.format(3))
    polled(tail)
    assert (names(tail.lines), tail.rotations) == (["r1", "r2", "r3", "r4"], 1)
    # Twice before the first has been left: neither is lost.
    for number in (5, 6):
        with path.open("a") as log:
            log.write(LINE.format(number))
        path.rename(tmp_path / f"a.log.{number}")
        path.touch()
        tail.poll()
    path.write_text(LINE.format(7))
    polled(tail)
    tail.close()
    assert names(tail.lines) == [f"r{number}" for number in range(1, 8)]
    assert tail.lines.line_count == 7


def test_run_that_ends_soon_after_a_rotation_has_both_files(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("")
    tail = tail_of(path)
    with path.open("a") as old:
        path.rename(tmp_path / "a.log.1")
        path.write_text(LINE.format(2))
        tail.poll()
        old.write(LINE.format(1))
    tail.close()
    assert (names(tail.lines), tail.rotations) == (["r1", "r2"], 1)


def test_file_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("")
    tail = tail_of(path)
    path.unlink()
    tail.poll()
    tail.poll()
    path.write_text(LINE.format(1))
    polled(tail)
    assert names(tail.lines) == ["r1"]
    tail.close()
    assert names(tail.lines) == ["r1"]


@pytest.mark.parametrize("kind", ["missing", "folder", "packed"])
def test_what_is_no_log_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    if kind == "packed":
        path.write_bytes(gzip.compress(b"x"))
    with pytest.raises(ConfigError, match=r"does not exist|is a folder|unpack it first"):
        tail_of(path)


@pytest.mark.parametrize("seed", range(3))
def test_every_cut_gives_the_same_lines(seed: int) -> None:
    rng = np.random.default_rng(seed)
    garbage = rng.bytes(3_000).replace(b"\n", b"")
    raw = b"".join([LINE.format(1).encode(), garbage, b"\n", b"\x00\xff\xfe\n", "\x1b[31mnaïve 語\x1b[0m\n".encode(),
                    LINE.format(2).encode(), LINE.format(3).encode()[:-1]])  # fmt: skip
    whole = log_lines()
    whole.feed(raw, NOW_S)
    whole.close(NOW_S)
    cut = log_lines()
    places = sorted({0, len(raw), *map(int, rng.integers(0, len(raw), 40))})
    for begin, end in pairwise(places):
        cut.feed(raw[begin:end], NOW_S)
    cut.close(NOW_S)
    assert whole.seen == cut.seen
    assert (names(whole), whole.line_count) == (["r1", "r2", "r3"], cut.line_count)


def test_memory_is_bounded() -> None:
    lines = log_lines()
    for _ in range(40):
        lines.feed(b"x" * LINE_BYTES_MAX, NOW_S)
    lines.feed(b"KV checksum mismatch in the tail of an endless line\n" + LINE.format(1).encode(), NOW_S)
    assert names(lines) == ["r1"]
    for number in range(KEPT_MAX + 50):
        lines.feed(LINE.format(number).encode(), NOW_S)
    assert len(lines.seen) == KEPT_MAX
    assert lines.more["KV checksum mismatch"] == 51


def test_secrets_and_colours_are_taken_out() -> None:
    key = "very-secret-0123456789"
    lines = log_lines(Scrubber([key]))
    raw = f"\x1b[31mRuntimeError\x1b[0m {key} Authorization: Bearer abcdef123456 api_key='topsecret1'"
    raw += " KV checksum mismatch"
    lines.feed(f"{raw} hf_abcdefghij {'y' * 900}\n".encode(), NOW_S)
    (line,) = lines.seen
    assert "KV checksum mismatch" in line.text
    for secret in (key, "abcdef123456", "topsecret1", "hf_abcdefghij", "\x1b"):
        assert secret not in line.text
    assert len(line.text) < 600


@pytest.mark.asyncio
async def test_the_last_look_at_a_log_waits_for_the_one_that_is_going_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.log"
    path.write_text("")
    order: list[str] = []
    has_begun, may_end = threading.Event(), threading.Event()

    def slow_poll(_: LogTail) -> None:
        order.append("begins")
        has_begun.set()
        assert may_end.wait(20)
        order.append("ends")

    monkeypatch.setattr(LogTail, "poll", slow_poll)
    logs = FollowedLogs([path], None, clock=WallClock(), now_s=lambda: NOW_S, scrub=str)
    async with logs:
        assert await asyncio.to_thread(has_begun.wait, 20)
        asyncio.get_running_loop().call_later(0.2, may_end.set)
    assert order == ["begins", "ends"] * 2
