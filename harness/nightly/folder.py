"""The folder of the nightly job: nights, the baseline, and the moves of the baseline.

Owns: names, writing and reading records, and what may become the baseline. Does not own: the history table (`history`).
Floor 5.

    HOME/nights/STAMP/night.json ...    one folder a night
    HOME/baseline.json                  the record of the accepted night
    HOME/baselines.jsonl                every move of the baseline, only appended to
    HOME/history.jsonl                  one line a night, only appended to
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from harness.nightly.checks.matrix import MATRIX_FOLDER
from harness.nightly.errors import NotABaseline, NotANight
from harness.nightly.history import append_line
from harness.nightly.record import SCHEMA, NightRecord
from results import layout
from results.matrix.folder import RUNS
from results.schema_version import schema_fault

NIGHTS = "nights"
NIGHT = "night.json"
BASELINE = "baseline.json"
MOVES = "baselines.jsonl"
SPEED_RUNS = "speed"


@dataclass(frozen=True, slots=True)
class Move:
    """One move of the baseline. at: UTC, ISO 8601. before: None for the first."""

    at: str
    night: str
    before: str | None


def new_night(home: Path, now: datetime) -> Path:
    """Make the folder of a night. Raises: StorageProblem."""
    return layout.new_run_folder(home / NIGHTS, now.strftime("%Y%m%dT%H%M%SZ"))


def home_of(night: Path) -> Path | None:
    """The folder of all nights that a night lies in; None for one that was taken elsewhere."""
    nights = night.resolve().parent
    return nights.parent if nights.name == NIGHTS else None


def write_night(folder: Path, record: NightRecord) -> None:
    """Effect: writes `night.json` in one step. Raises: StorageProblem."""
    _write(folder / NIGHT, record)


def read_night(path: Path) -> NightRecord:
    """Raises: NotANight, NewerRun."""
    if not path.is_dir():
        raise NotANight(path, "it is a file" if path.exists() else "there is no such folder")
    return _read(path / NIGHT)


def read_baseline(home: Path) -> NightRecord | None:
    """The accepted night; None where no night was accepted yet. Raises: NotANight, NewerRun."""
    return _read(home / BASELINE) if (home / BASELINE).exists() else None


def accept(home: Path, path: Path, now: datetime) -> tuple[NightRecord, NightRecord | None]:
    """Make a night the baseline. Returns: it, and the baseline before.

    A night with a regression may be accepted: that is how a change that was meant becomes the new normal.
    Raises: NotANight, NewerRun; NotABaseline for a night that is not whole or has no matrix.
    """
    record = read_night(path)
    if record.partial:
        raise NotABaseline(path, "the night was interrupted, so most of it was never measured")
    if record.matrix is None:
        raise NotABaseline(path, "it has no matrix, so there is nothing to compare with")
    if record.matrix.partial:
        raise NotABaseline(path, "its matrix is not whole; give the night a larger --budget")
    before = read_baseline(home)
    _write(home / BASELINE, record)
    moved = Move(now.isoformat(timespec="seconds"), record.night, None if before is None else before.night)
    append_line(home / MOVES, moved)
    return record, before


def prune_runs(home: Path, keep: int) -> list[str]:
    """Effect: removes the single runs of all but the last `keep` nights; records and reports stay. Returns: whose."""
    nights = sorted(path for path in (home / NIGHTS).iterdir() if (path / NIGHT).exists())
    pruned = [path for path in nights[:-keep] if any(folder.is_dir() for folder in _run_folders(path))]
    for night in pruned:
        for folder in _run_folders(night):
            shutil.rmtree(folder, ignore_errors=True)
    return [path.name for path in pruned]


def unrecorded_nights(home: Path, known: Collection[str]) -> list[str]:
    """Nights after the last known one that have left no record: they were killed, or the machine went down."""
    if not (home / NIGHTS).is_dir():
        return []
    last = max(known, default="")
    return sorted(path.name for path in (home / NIGHTS).iterdir() if path.name > last and not (path / NIGHT).exists())


def _run_folders(night: Path) -> Iterator[Path]:
    yield night / MATRIX_FOLDER / RUNS
    yield night / SPEED_RUNS


def _read(path: Path) -> NightRecord:
    try:
        text = path.read_bytes()
    except OSError:
        raise NotANight(path.parent, f"it holds no {path.name}") from None
    fault = schema_fault(text, SCHEMA, path)
    if fault is not None:
        raise NotANight(path.parent, fault)
    try:
        return msgspec.json.decode(text, type=NightRecord)
    except msgspec.MsgspecError as error:
        raise NotANight(path.parent, f"its {path.name} cannot be read ({error})") from None


def _write(path: Path, record: NightRecord) -> None:
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"

    def write(beside: Path) -> None:
        beside.write_bytes(text)

    layout.replace_file(path, write)
