"""Names in a run folder, and writing a whole file at once.

Owns: the file names, the folder's name, replacing a file atomically. Floor 3. Source: ours.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

from results.errors import StorageProblem

MANIFEST = "manifest.json"
TOOLS = "tools.jsonl"
SESSIONS = "sessions.jsonl"
TURNS = "turns.jsonl"
RAW = "raw.jsonl"
FINDINGS = "findings.jsonl"
TURNS_TABLE = "turns.parquet"
FINDINGS_TABLE = "findings.parquet"
SUMMARY = "summary.json"

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")


def run_name(stamp: str, scenario: str, seed: int) -> str:
    """`<UTC stamp>-<scenario>-s<seed>`, with what a folder name cannot hold replaced by a dash."""
    return f"{_NOT_IN_A_NAME.sub('-', stamp)}-{_NOT_IN_A_NAME.sub('-', scenario)}-s{seed}"


def new_run_folder(root: Path, name: str) -> Path:
    """Make a folder that did not exist: `name`, or `name-2`, `name-3`... where another run took it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            path = root / (name if number == 1 else f"{name}-{number}")
            try:
                path.mkdir()
            except FileExistsError:
                continue
            return path
    except OSError as error:
        raise StorageProblem(root, error) from error
    raise AssertionError("count() does not end")


def replace_file(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file beside `path`, then put it in its place: readers see the old one or the new one."""
    beside = path.with_name(path.name + ".partial")
    try:
        write(beside)
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageProblem(path, error) from error


def remove_folder(path: Path) -> None:
    """Take back a run folder that could not even be begun."""
    shutil.rmtree(path, ignore_errors=True)
