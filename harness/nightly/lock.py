"""One nightly job at a time in one folder.

Owns: the lock and the note about its owner, who is named when a second job is refused. Does not own: the work. Floor 5.
Source: the lock is the operating system's (`filelock`), so that it is free again however its owner ended; the note is
for people only.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from harness.nightly.errors import NightUnderWay
from results import layout
from results.errors import StorageProblem

LOCK = "nightly.lock"
OWNER = "nightly.owner.json"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who holds the lock. since: UTC, ISO 8601."""

    pid: int
    host: str
    since: str


@contextmanager
def only_night(home: Path, now: datetime) -> Iterator[None]:
    """Hold the folder for one night. Raises: NightUnderWay with owner and age; StorageProblem."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = FileLock(home / LOCK, timeout=0)
        lock.acquire()
    except Timeout:
        raise _under_way(home, now) from None
    except OSError as error:
        raise StorageProblem(home, error) from error
    try:
        owner = msgspec.json.encode(Owner(os.getpid(), platform.node(), now.isoformat(timespec="seconds")))
        layout.replace_file(home / OWNER, lambda beside: _write(beside, owner))
        yield
    finally:
        (home / OWNER).unlink(missing_ok=True)
        lock.release()


def _under_way(home: Path, now: datetime) -> NightUnderWay:
    try:
        owner = msgspec.json.decode((home / OWNER).read_bytes(), type=Owner)
        age_s = (now - datetime.fromisoformat(owner.since)).total_seconds()
    except (OSError, msgspec.MsgspecError, ValueError):
        return NightUnderWay(home, None, None, None)
    return NightUnderWay(home, owner.pid, owner.host, age_s)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
