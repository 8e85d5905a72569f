"""The history of all nights: one line each, only appended to.

Owns: the row, appending, reading back with every damaged line said. Does not own: drawing (`trend`). Floor 5.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from harness.nightly.checks.speed import RATIOS, WALL
from harness.nightly.record import NightRecord
from results.errors import StorageProblem
from results.lines import LineFault, encode_line, read_lines

HISTORY = "history.jsonl"


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One arm in one night. rate, low, high: None where nothing could be judged."""

    corrupted: int
    judged: int
    rate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class NightRow:
    """One night. checks: by name, status and seconds. command_s: median of the main command; ratios: to the yardstick,
    every one that was measured."""

    night: str
    started: str
    verdict: str
    sentence: str
    partial: bool
    baseline: str | None
    source: str
    wall_s: float
    checks: dict[str, tuple[str, float]]
    arms: dict[str, ArmRow]
    command_s: float | None = None
    ratios: tuple[float, ...] = ()

    @property
    def ratio(self) -> float | None:
        return median(self.ratios) if self.ratios else None


def row_of(record: NightRecord) -> NightRow:
    """The line of a night."""
    matrix, speed = record.matrix, record.check("speed")
    arms = {
        arm.scenario: ArmRow(
            arm.sessions_corrupted, arm.sessions_judged, arm.session_rate, *(arm.session_ci95 or (None, None))
        )
        for arm in (() if matrix is None else matrix.arms)
    }
    return NightRow(
        night=record.night,
        started=record.started,
        verdict=str(record.verdict),
        sentence=record.sentence,
        partial=record.partial,
        baseline=record.baseline,
        source=record.source,
        wall_s=record.wall_s,
        checks={check.name: (str(check.status), check.wall_s) for check in record.checks},
        arms=arms,
        command_s=None if speed is None else speed.figures.get(WALL),
        ratios=() if speed is None else speed.samples.get(RATIOS, ()),
    )


def append_line(path: Path, row: object) -> None:
    """Append one line. Effect: a torn last line is ended first, so that it stays a damaged line of its own.

    Raises: StorageProblem.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            size_bytes = os.fstat(descriptor).st_size
            is_torn = size_bytes > 0 and os.pread(descriptor, 1, size_bytes - 1) != b"\n"
            rest = memoryview((b"\n" if is_torn else b"") + encode_line(row))
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageProblem(path, error) from error


def read_history(home: Path) -> tuple[list[NightRow], list[LineFault]]:
    """All nights, oldest first, and the lines that cannot be read. A home without a history has no nights yet."""
    path = home / HISTORY
    return read_lines(path, NightRow) if path.exists() else ([], [])


def usual_wall_s(rows: Sequence[NightRow], check: str) -> float | None:
    """What the check took when it last came to a verdict; None where it never did."""
    taken = [row.checks[check][1] for row in rows if row.checks.get(check, ("", 0.0))[0] in ("passed", "regression")]
    return taken[-1] if taken else None
