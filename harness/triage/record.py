"""The record of a triage: `triage.json` beside the matrix of its arms, and its words for a screen and an issue.

Owns: the fields of the file, and that no secret of a command gets into it. Does not own: rates (the matrix record),
rules (`conclusion.py`). Floor 5. Source: ours.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from harness.live.arms_record import arms_record
from harness.live.command_secrets import without_secrets
from harness.live.outcome import INTERRUPTED
from harness.simulation import provenance
from harness.triage.conclusion import Conclusion, Effect, conclude, outcome_of
from harness.triage.plan import AGAIN, BASE
from harness.triage.run import LOGS, TriageRun
from results import layout
from results.matrix.folder import write_matrix
from results.matrix.record import MatrixRecord
from results.report.tables import markdown_table
from results.report.words import percent_interval
from results.verdict import RunVerdict

SCHEMA = "kvrace-triage/1"
TRIAGE = "triage.json"


@dataclass(frozen=True, slots=True)
class TriageArm:
    """command: as it was started, with the values of secret-looking flags left out. environment: names only."""

    name: str
    command: str
    environment: tuple[str, ...]
    log: str


@dataclass(frozen=True, slots=True)
class TriageRecord:
    """exit_code: 0 the base is clean, 1 corruption, 4 the base could not be judged, 130 interrupted."""

    started: str
    finished: str | None
    repeat: str
    conclusion: Conclusion
    arms: tuple[TriageArm, ...]
    exit_code: int
    schema: str = field(default=SCHEMA)


def matrix_of(run: TriageRun, repeat: str) -> MatrixRecord | None:
    """The arms as a matrix, each compared with the base; None where not one block was run."""
    names = [name for name in run.requests if name != BASE]
    if not run.done:
        return None
    requests = [replace(run.requests[name], repeat=repeat) for name in (*names, BASE)]
    record = arms_record(
        requests, run.done, blocks=run.plan.stress.blocks, began=run.began.isoformat(timespec="seconds"), ended_by=None
    )
    notes = (
        "Each seed is one block: a workload of its own, the same for all arms. The arms ran one after the other.",
        f"An arm with {run.plan.stress.enough} corrupted blocks was not asked further: it is no cure.",
    )
    finished = None if run.is_interrupted else provenance.utc_now().isoformat(timespec="seconds")
    return replace(record, name="triage", notes=notes, partial=run.is_interrupted, finished=finished,
                   runs_wanted=len(run.done))  # fmt: skip


def keep(run: TriageRun, repeat: str) -> tuple[TriageRecord, MatrixRecord | None]:
    """Both records of what there is. Effect: writes `matrix.json`. Raises: StorageProblem."""
    matrix = matrix_of(run, repeat)
    base = None if matrix is None else next((arm for arm in matrix.arms if arm.scenario == BASE), None)
    outcomes = () if matrix is None else tuple(
        outcome_of(name, toggles, matrix, run.failures) for name, toggles in run.arms.items() if name != BASE
    )  # fmt: skip
    conclusion = conclude(run.plan.toggles, outcomes, base=base, fewest=run.fewest, is_interrupted=run.is_interrupted)
    if matrix is not None:
        write_matrix(run.folder, matrix)
    arms = tuple(
        TriageArm(name, shlex.join(without_secrets(command.words)), tuple(command.environment), f"{LOGS}/{name}.log")
        for name, command in run.commands.items()
    )
    judged = RunVerdict.UNKNOWN if base is None else base.verdict
    code = INTERRUPTED if run.is_interrupted else judged.exit_code
    finished = None if run.is_interrupted else provenance.utc_now().isoformat(timespec="seconds")
    began = run.began.isoformat(timespec="seconds")
    return TriageRecord(began, finished, repeat, conclusion, arms, code), matrix


def write_triage(folder: Path, record: TriageRecord) -> Path:
    """Effect: writes `triage.json` in one step. Raises: StorageProblem."""
    path = folder / TRIAGE
    text = msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n"
    layout.replace_file(path, lambda beside: _write(beside, text))
    return path


def _write(beside: Path, text: bytes) -> None:
    beside.write_bytes(text)


def _base_row(matrix: MatrixRecord) -> list[str]:
    base = next(arm for arm in matrix.arms if arm.scenario == BASE)
    interval = "" if base.session_ci95 is None else f", {percent_interval(*base.session_ci95)}"
    return [
        BASE,
        "-",
        f"{base.sessions_corrupted:,} of {base.sessions_judged:,} sessions in {base.seeds} blocks{interval}",
    ]


def markdown(record: TriageRecord, matrix: MatrixRecord | None) -> str:
    """The conclusion, the arms and the classes, for a screen and for an issue."""
    conclusion = record.conclusion
    parts = [f"TRIAGE  {conclusion.sentence}\n"]
    if conclusion.drift is not None:
        parts.append(f"DRIFT  {conclusion.drift}\n")
    rows = [[one.name, one.effect, one.detail] for one in conclusion.outcomes]
    if matrix is not None:
        parts.append(markdown_table(["arm", "effect", "corrupted"], [_base_row(matrix), *rows]))
    if conclusion.classes:
        classes = [[one.race_class, ", ".join(one.by), ", ".join(one.against) or "-"] for one in conclusion.classes]
        parts.append(markdown_table(["race class", "speaks for it", "touches it, and is no cure"], classes))
        parts.append("A cure points at a path, and may have changed the timing alone: `run.py race` names a cause.\n")
    if any(one.effect is Effect.NOT_RUN and one.name != AGAIN for one in conclusion.outcomes):
        parts.append("What could not be run says nothing; see its log.\n")
    return "\n".join(parts)
