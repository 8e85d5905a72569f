"""Stored runs as pandas frames, for notebooks, and finding the newest of them.

Owns: the hand-over. A closed run is read from its tables, an interrupted one from its lines, so a notebook sees the
same columns either way. Floor 3. Source: ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pandas as pd

from results import layout, parquet
from results.errors import NotARun
from results.matrix.folder import MATRIX
from results.reader import Run
from results.report.parts import Report
from results.report.rate_table import rate_table

RUNS = Path(__file__).parent / "runs"
CHOICE = "KVRACE_RUN"
"""Environment variable that names a run or matrix folder for a notebook."""

_STALE_COLUMNS = ("session", "turn", "is_corrupted", "pool", "layer", "pages", "torn", "late_us")


def turn_frame(run: Run) -> pd.DataFrame:
    """One row a turn; columns as `parquet.TURN_SCHEMA`."""
    table = run.path / layout.TURNS_TABLE
    if table.exists():
        return pd.read_parquet(table)
    return pd.DataFrame(parquet.turn_table(run.turns, run.judgements).to_pandas())


def finding_frame(run: Run) -> pd.DataFrame:
    """One row a finding that is not OK; columns as `parquet.FINDING_SCHEMA`."""
    table = run.path / layout.FINDINGS_TABLE
    if table.exists():
        return pd.read_parquet(table)
    return pd.DataFrame(parquet.finding_table(run.judgements).to_pandas())


def stale_read_frame(run: Run) -> pd.DataFrame:
    """One row a recorded stale read: whose it was, which pages of which layer, and by how much it was early."""
    struck = {judgement.key for judgement in run.judgements if judgement.is_corrupted}
    rows = [
        (*turn.key, turn.key in struck, read.pool, read.layer, len(read.pages), read.torn, read.late_us)
        for turn in run.turns
        if turn.machine is not None
        for read in turn.machine.stale_sample
    ]
    return pd.DataFrame(rows, columns=list(_STALE_COLUMNS))


def rate_frame(report: Report) -> pd.DataFrame:
    """One row a rate of a report; columns as `rate_table.RATE_SCHEMA`."""
    return pd.DataFrame(rate_table(report).to_pandas())


def point_frame(report: Report) -> pd.DataFrame:
    """One row a turn of every run of a report, with its arm and seed; columns as `TurnPoint`."""
    rows = [
        {"arm": run.arm, "seed": run.seed, **msgspec.to_builtins(point)} for run in report.runs for point in run.points
    ]
    return pd.DataFrame(rows)


def chosen_run(root: Path = RUNS) -> Path:
    """The folder that `KVRACE_RUN` names, else the newest run under `root`. Raises: NotARun."""
    return _chosen(root, (path.parent for path in root.glob(f"*/{layout.MANIFEST}")), "python run.py")


def chosen_matrix(root: Path = RUNS) -> Path:
    """The folder that `KVRACE_RUN` names, else the newest matrix under `root`. Raises: NotARun."""
    return _chosen(root, (path.parent for path in root.rglob(MATRIX)), "python run.py matrix")


def _chosen(root: Path, found: Iterable[Path], command: str) -> Path:
    named = os.environ.get(CHOICE)
    if named:
        return Path(named)
    newest = max(found, key=lambda path: (path.stat().st_mtime, path.name), default=None)
    if newest is None:
        raise NotARun(root, f"nothing is stored there yet; make something with {command}, or set {CHOICE}")
    return newest
