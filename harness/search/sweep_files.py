"""What a sweep leaves beside its log: `sweep.csv`, `sweep.md`, `sweep.png`, and the object of `--json`.

Owns: columns, headings, captions. Does not own: the figures (`statistics`), drawing (`results.report`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.search.output import write_csv, write_text
from harness.search.seeds import seeds_text
from harness.search.statistics import SeedStatistics
from harness.search.sweep import Sweep, SweepRow
from results.report.tables import Cell, markdown_table
from results.report.words import percent, percent_interval

REPORTED_RATE = (0.12, 0.18)
"""The incident: corrupted sessions, of 60 at once."""
LOG_SCALE_RATIO = 50.0

STATISTIC_HEADINGS = (
    "mean rate", "95 %", "min-max", "corrupted sessions", "primary", "secondary", "host hits", "stale reads",
)  # fmt: skip


def statistic_cells(statistics: SeedStatistics) -> list[Cell]:
    """One cell for each of STATISTIC_HEADINGS; `COLUMNS` says what they mean."""
    return [
        percent(statistics.rate),
        _span(statistics.low, statistics.high),
        _span(statistics.rate_min, statistics.rate_max),
        f"{statistics.sessions_corrupted:,} of {statistics.sessions:,}",
        statistics.sessions_primary,
        statistics.sessions_secondary,
        percent(statistics.host_hit_share),
        statistics.stale_reads,
    ]


COLUMNS = (
    "Mean rate: share of corrupted sessions, mean of the seeds; 95 %: its interval, the seed is the unit; min-max: of "
    "the seeds. Primary sessions read stale keys themselves, secondary ones only pages that others had poisoned. Host "
    "hits: turns whose prompt came back from the host tier in part. Stale reads: pages of a layer, read too early."
)


def _span(low: float | None, high: float | None) -> str | None:
    return None if low is None or high is None else percent_interval(low, high)


def sweep_table(sweep: Sweep, rows: Sequence[SweepRow]) -> str:
    """The table as Markdown, which is readable as it stands."""
    has_scenarios = len({row.cell.scenario for row in rows}) > 1
    headings = [*(["scenario"] if has_scenarios else []), sweep.axis.label, *STATISTIC_HEADINGS, "longest prompt"]
    cells = [
        [
            *([row.cell.scenario] if has_scenarios else []),
            row.cell.point.value,
            *statistic_cells(row.statistics),
            row.statistics.prompt_tokens_max,
        ]
        for row in rows
    ]
    return markdown_table(headings, cells)


def sweep_notes(sweep: Sweep, rows: Sequence[SweepRow]) -> str:
    """Under the table: what the interval is, what follows the axis, and where nothing was put to the test."""
    scenarios = list(dict.fromkeys(row.cell.scenario for row in rows))
    notes = [f"Scenario {', '.join(scenarios)}, seeds {seeds_text(sweep.seeds)}. {COLUMNS}"]
    notes += [f"{row.cell.point.value}: {row.cell.point.follows}." for row in rows if row.cell.point.follows]
    idle = [_place(row, scenarios) for row in rows if row.statistics.seeds_unknown]
    if idle:
        notes.append(f"Some seeds prove nothing (no load-back, or few turns judged) at: {', '.join(idle)}.")
    return "\n".join(notes) + "\n"


def sweep_csv_rows(sweep: Sweep, rows: Sequence[SweepRow]) -> list[dict[str, object]]:
    """One flat row for each cell, with everything that is known of it."""
    return [
        {
            "scenario": row.cell.scenario,
            "axis": sweep.axis.name,
            "value": row.cell.point.value,
            "x": row.cell.point.x,
            **asdict(row.statistics),
            "overrides": dict(row.cell.arm.overrides),
        }
        for row in rows
    ]


def write_sweep(folder: Path, sweep: Sweep, rows: Sequence[SweepRow], command: str) -> None:
    """Effect: writes the three files. Raises: StorageProblem."""
    write_csv(folder / "sweep.csv", sweep_csv_rows(sweep, rows))
    write_text(folder / "sweep.md", f"    {command}\n\n{sweep_table(sweep, rows)}\n{sweep_notes(sweep, rows)}")
    _draw(folder / "sweep.png", sweep, rows)


def _draw(path: Path, sweep: Sweep, rows: Sequence[SweepRow]) -> None:
    # Drawing loads matplotlib, which costs more than everything that a refused command does.
    from harness.search.drawing import bounds, dot_of
    from results.report.dots import DotRow, plot_dots
    from results.report.plots import Series, plot_sweep

    scenarios = list(dict.fromkeys(row.cell.scenario for row in rows))
    title = f"Corrupted sessions over {sweep.axis.label}"
    caption = f"mean of seeds {seeds_text(sweep.seeds)}, 95 % interval over seeds; {', '.join(scenarios)}"
    if any(row.cell.point.x is None for row in rows):
        dots = [DotRow(_place(row, scenarios), [dot_of(row.statistics)]) for row in rows]
        plot_dots(path, dots, title=title, x_label="corrupted sessions", caption=caption, target=REPORTED_RATE)
        return
    series = []
    for scenario in scenarios:
        points = [
            (row.cell.point.x or 0.0, row.statistics.rate, *bounds(row.statistics))
            for row in rows
            if row.cell.scenario == scenario and row.statistics.rate is not None
        ]
        if points:
            series.append(Series(scenario, *(list(column) for column in zip(*sorted(points), strict=True))))
    if series:
        measured = [row.cell.point.x or 0.0 for row in rows]
        plot_sweep(
            path,
            series,
            title=title,
            x_label=sweep.axis.label,
            y_label="corrupted sessions",
            caption=caption,
            log_x=min(measured) > 0 and max(measured) / min(measured) >= LOG_SCALE_RATIO,
            target=REPORTED_RATE,
        )


def _place(row: SweepRow, scenarios: Sequence[str]) -> str:
    return f"{row.cell.scenario} {row.cell.point.value}" if len(scenarios) > 1 else row.cell.point.value
