"""Logs that were fetched after a run, read whole and joined to its stored turns.

Owns: what of a run folder joining needs. Does not own: joining (`joining.py`), storing (`results/server_log`).
Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson

from harness.live.server_logs.joining import RunTurns, findings_of, findings_of_errors
from harness.live.server_logs.lines import LogLines
from harness.live.server_logs.tail import opened
from harness.live.server_logs.zones import ZoneGuess
from results import layout
from results.reader import Run, read_raw
from results.server_log import LogFinding

ORIGIN: Final = "turns_count_from_epoch_s"
"""Where `summary.json` of a live run says from which instant the times of its turns count."""
_PIECE_BYTES: Final = 1024 * 1024


def attached(run: Run, paths: Sequence[Path], *, offset_s: float | None) -> tuple[list[LogFinding], list[str]]:
    """The findings of all logs, and notes in words.

    Args:
        offset_s: of the zone that times without one are in; None takes UTC for it, and says so.
    Raises: ConfigError for a log that cannot be read.
    """
    turns = turns_of(run)
    findings: list[LogFinding] = findings_of_errors(turns)
    notes = []
    for path in paths:
        lines = read_log(path, about_s=turns.origin_s or 0.0, offset_s=offset_s or 0.0)
        found = findings_of(lines, turns)
        findings += found
        assumed = "" if offset_s is not None else "; times without a zone were taken for UTC (--log-zone)"
        apart = sum(one.count for one in found if not one.is_in_run)
        outside = f", {apart} of them not in the run's time" if apart else ""
        count = sum(one.count for one in found)
        notes.append(f"{path}: {lines.line_count:,} lines, {count:,} of them matter{outside}{assumed}")
    return findings, notes


def read_log(
    path: Path, *, about_s: float, offset_s: float, scrub: Callable[[str], str] = lambda text: text
) -> LogLines:
    """Raises: ConfigError."""
    lines = LogLines(str(path), ZoneGuess(offset_s), about_s=about_s, scrub=scrub)
    with opened(path) as file:
        while piece := file.read(_PIECE_BYTES):
            lines.feed(piece, None)
    lines.close(None)
    return lines


def turns_of(run: Run) -> RunTurns:
    turns = RunTurns(origin_s=_origin_s(run))
    for turn in run.turns:
        turns.add(turn, None)
    for key, raw in read_raw(run)[0].items():
        turns.name(key, raw)
    return turns


def _origin_s(run: Run) -> float:
    """To the millisecond where the run knew it; else the second in which the run began."""
    try:
        told = orjson.loads((run.path / layout.SUMMARY).read_bytes()).get(ORIGIN)
    except (OSError, orjson.JSONDecodeError, AttributeError):
        told = None
    return float(told) if isinstance(told, int | float) else datetime.fromisoformat(run.manifest.started).timestamp()
