"""Opening what a report is about: one run folder, or a matrix folder with its runs.

Owns: pairing each readable turn with one judgement, and saying everything that was lost on the way. Does not own:
reading the files (`results.reader`, `results.matrix.folder`). Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from results.errors import NewerRun, NotARun
from results.findings import Judgement
from results.matrix.folder import StoredMatrix
from results.oracles.judge import judge_turn
from results.reader import Run, open_run
from results.records import Measured, TurnRecord
from results.rejudge import context_of_run
from results.report.words import plural
from results.server_log import LogFinding, read_server_log
from results.summary import RunSummary, summarise


@dataclass(frozen=True, slots=True, eq=False)
class JudgedRun:
    """A run whose turns and judgements stand in the same order. faults: what was lost, in words."""

    run: Run
    arm: str
    turns: tuple[TurnRecord, ...]
    judgements: tuple[Judgement, ...]
    summary: RunSummary
    faults: tuple[str, ...]
    server_log: tuple[LogFinding, ...] = ()

    @property
    def name(self) -> str:
        return self.run.path.name

    @property
    def seed(self) -> int:
        return self.run.manifest.seed

    @property
    def pairs(self) -> list[tuple[TurnRecord, Judgement]]:
        return list(zip(self.turns, self.judgements, strict=True))


def gather_run(path: Path) -> JudgedRun:
    """Read one run. Raises: NotARun, NewerRun."""
    run = open_run(path)
    judgements, judged_now = _one_each(run)
    server_log, log_faults = read_server_log(path)
    faults = [str(fault) for fault in (*run.faults, *log_faults)]
    if judged_now:
        faults.append(
            f"{plural(judged_now, 'turn')} had no judgement that could be read: judged now, by today's oracles"
        )
    measured = run.manifest.measured
    if measured is None:
        faults.append("the run was never closed: its counters, its wall time and its digest are not known")
    summary = summarise(
        run.manifest,
        run.turns,
        judgements,
        measured=measured or Measured(turn_count=len(run.turns), wall_s=0.0, trace_digest="", counters={}),
        run_dir=str(path),
        partial=run.is_partial,
        faults=faults,
        server_log=server_log,
    )
    return JudgedRun(
        run, run.manifest.scenario, run.turns, tuple(judgements), summary, tuple(faults), tuple(server_log)
    )


def gather_matrix(matrix: StoredMatrix) -> tuple[list[JudgedRun], list[str]]:
    """The runs of a matrix that were kept and can be read, in the order of the record, and what was lost."""
    runs: list[JudgedRun] = []
    faults = [str(fault) for fault in matrix.faults]
    not_kept = 0
    for entry in matrix.record.runs:
        if entry.run_dir is None:
            not_kept += 1
            continue
        try:
            found = gather_run(matrix.run_folder(entry.run_dir))
        except (NotARun, NewerRun) as error:
            faults.append(f"run left out of all pictures: {error}")
            continue
        runs.append(replace(found, arm=entry.scenario))
        faults += [f"{found.name}: {fault}" for fault in found.faults]
        if found.summary.digest != entry.digest:
            faults.append(f"{found.name}: its turns are not those that the table counts (their digests differ)")
    if not_kept:
        kept = f"{not_kept} of {plural(len(matrix.record.runs), 'run')} were not kept"
        faults.append(f"{kept}: they are in the table, but in no picture and without evidence")
    return runs, faults


def _one_each(run: Run) -> tuple[list[Judgement], int]:
    """The stored judgement of each turn; where there is none, one made now. And how many were made."""
    stored: dict[tuple[int, int], Judgement] = {}
    for judgement in run.judgements:
        stored.setdefault(judgement.key, judgement)
    missing = [turn for turn in run.turns if turn.key not in stored]
    if missing:
        context = context_of_run(run)
        stored |= {turn.key: judge_turn(turn, context) for turn in missing}
    return [stored[turn.key] for turn in run.turns], len(missing)
