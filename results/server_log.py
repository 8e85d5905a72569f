"""What a server's own log says of a run: lines that matter, joined to turns, and what they do to the verdict.

Owns: the record of a line, its file in the run folder, the verdict with it, the sentences of a report. Does not own:
patterns, reading of logs, joining (`harness/live/server_logs`). Floor 3. Source: ours.

The rule. Rates count replies, and no log line changes them. But a server that compares bytes with what they were made
from, and finds them changed, has had corruption, also where it caught it and no client saw a wrong word: such a line
makes a run CORRUPT. A detector that is known to fire on sound servers, or that cannot tell the cache from the model,
makes a clean run UNKNOWN. Everything else is told and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from results import layout
from results.lines import LineFault, encode_line, read_lines
from results.verdict import RunVerdict

SERVER_LOG = "server_log.jsonl"
_SHOWN_MAX = 6
_TURNS_SHOWN_MAX = 4


class Weight(StrEnum):
    """What a line that lies in the run's time does to the verdict."""

    CORRUPT = "corrupt"
    UNKNOWN = "unknown"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class LogFinding:
    """One line, cleaned and cut, without secrets.

    name, group: of the pattern. source: the file's name, or where else the server said it.
    at_s: since the run's start, None where the line does not tell. stamp: the time as the server wrote it.
    turns: those that the line names or, by `how`, those that were in flight then. more: further such lines, not kept.
    is_in_run: the line surely belongs to this run; only then it may decide.
    """

    name: str
    group: str
    is_integrity: bool
    weight: Weight
    source: str
    at_s: float | None
    stamp: str
    text: str
    turns: tuple[tuple[int, int], ...] = ()
    how: Literal["request", "time", "none"] = "none"
    more: int = 0
    is_in_run: bool = True

    @property
    def count(self) -> int:
        return 1 + self.more


def write_server_log(run_dir: Path, findings: Sequence[LogFinding]) -> Path:
    """Effect: replaces what stood there at once. Raises: StorageProblem."""
    lines = b"".join(map(encode_line, findings))

    def write(beside: Path) -> None:
        beside.write_bytes(lines)

    layout.replace_file(run_dir / SERVER_LOG, write)
    return run_dir / SERVER_LOG


def read_server_log(run_dir: Path) -> tuple[list[LogFinding], list[LineFault]]:
    """Nothing, and no fault, where no log was read."""
    path = run_dir / SERVER_LOG
    return read_lines(path, LogFinding) if path.exists() else ([], [])


def with_server_log(verdict: RunVerdict, reason: str, findings: Sequence[LogFinding]) -> tuple[RunVerdict, str]:
    """The verdict of the replies, seen beside the server's own word."""
    deciding = [one for one in findings if one.is_in_run]
    proofs = [one for one in deciding if one.weight is Weight.CORRUPT]
    alarms = [one for one in deciding if one.weight is Weight.UNKNOWN]
    if proofs and verdict is not RunVerdict.CORRUPT:
        return (
            RunVerdict.CORRUPT,
            f"the server itself reported corruption: {_counted(proofs)}; of the replies: {reason}",
        )
    if alarms and verdict is RunVerdict.CLEAN:
        doubt = "which a sound server may report too"
        return RunVerdict.UNKNOWN, f"the server itself reported {_counted(alarms)}, {doubt}; of the replies: {reason}"
    return verdict, reason


def server_log_notes(findings: Sequence[LogFinding]) -> list[str]:
    """One sentence a pattern, integrity first."""
    by_name: dict[str, list[LogFinding]] = {}
    for one in sorted(findings, key=lambda one: not one.is_integrity):
        by_name.setdefault(one.name, []).append(one)
    notes = []
    for name, lines in list(by_name.items())[:_SHOWN_MAX]:
        first = lines[0]
        count = sum(one.count for one in lines)
        where = "" if first.at_s is None else f", the first at {first.at_s:.1f} s"
        said = "the server itself reported" if first.is_integrity else "the server's log has"
        outside = "" if any(one.is_in_run for one in lines) else " (not in the run's time)"
        notes.append(f"{said} {name}, {count} {_times(count)}{where}{outside}{_turns(first)}: {first.text}")
    if len(by_name) > _SHOWN_MAX:
        notes.append(f"{len(by_name) - _SHOWN_MAX} further kinds of lines stand in {SERVER_LOG}")
    return notes


def _turns(line: LogFinding) -> str:
    if not line.turns:
        return ""
    shown = ", ".join(f"session {session} turn {turn}" for session, turn in line.turns[:_TURNS_SHOWN_MAX])
    rest = len(line.turns) - _TURNS_SHOWN_MAX
    more = f" and {rest} more" if rest > 0 else ""
    return f", of {shown}{more}" if line.how == "request" else f", while {shown}{more} were in flight"


def _counted(lines: Sequence[LogFinding]) -> str:
    counts: dict[str, int] = {}
    for one in lines:
        counts[one.name] = counts.get(one.name, 0) + one.count
    return ", ".join(f"{name} ({count} {_times(count)})" for name, count in counts.items())


def _times(count: int) -> str:
    return "time" if count == 1 else "times"
