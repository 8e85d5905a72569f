"""What an ablation leaves: `ablation.csv` (every slip), `ablation_replies.csv`, `ablation.md`, and three figures.

Owns: file names and their contents' order. Does not own: counting, tables, drawing, each in its file. Floor 5.
Nothing in the files depends on when or how fast they were made: the same spec writes the same bytes of text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from harness.search.ablation.conclusion import Conclusion, conclude
from harness.search.ablation.counts import Row, count_flips, observation_frame, rows_of
from harness.search.ablation.figures import draw_figures
from harness.search.ablation.measure import Measured
from harness.search.ablation.spec import AblationSpec
from harness.search.ablation.tables import tables
from harness.search.output import write_text
from kernels.hicache.geometry import Geometry
from results.errors import StorageProblem

INTERRUPTED = "INTERRUPTED: only a part of the sessions was measured.\n\n"


@dataclass(frozen=True, slots=True, eq=False)
class AblationReport:
    """Everything that is shown and stored. counts: one row for each slip. text: tables and conclusion."""

    spec: AblationSpec
    counts: pd.DataFrame
    replies: pd.DataFrame
    conclusion: Conclusion
    text: str


def make_report(spec: AblationSpec, measured: Measured, geometry: Geometry, *, partial: bool = False) -> AblationReport:
    """Count what was measured. Redundancies of which nothing was measured are left out."""
    done = {case.setting.redundancy for case in measured.clean if case.setting.length == "long"}
    assert done, "nothing was measured"
    spec = replace(spec, redundancies=tuple(value for value in spec.redundancies if value in done))
    observations = observation_frame(measured)
    counts = count_flips(observations, geometry)
    conclusion = conclude(spec, observations, counts)
    text = f"{tables(spec, counts, measured)}\n{conclusion.text}\n"
    return AblationReport(spec, counts, _reply_frame(measured), conclusion, (INTERRUPTED if partial else "") + text)


def write_report(folder: Path, report: AblationReport) -> tuple[Path, ...]:
    """Effect: makes the folder and writes the files. Raises: StorageProblem."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageProblem(folder, error) from error
    cells, replies, page = (folder / name for name in ("ablation.csv", "ablation_replies.csv", "ablation.md"))
    write_text(cells, report.counts.to_csv(index=False, lineterminator="\n"))
    write_text(replies, report.replies.to_csv(index=False, lineterminator="\n"))
    write_text(page, report.text)
    return cells, replies, page, *draw_figures(folder, report.spec, report.counts)


def json_cells(frame: pd.DataFrame) -> list[Row]:
    """Rows as plain values: what a slip does not have is null."""
    return [{column: _plain(value) for column, value in row.items()} for row in rows_of(frame)]


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value.item() if hasattr(value, "item") else value


def _reply_frame(measured: Measured) -> pd.DataFrame:
    columns = ("redundancy", "pool", "session", "turn", "first_token_flipped", "outcome", "tokens", "text")
    rows = [
        (
            seen.setting.redundancy, seen.pool, seen.session, seen.turn, seen.first_token_flipped, seen.outcome,
            seen.tokens, seen.text,
        )
        for seen in measured.replies
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(columns))
