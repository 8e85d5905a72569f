"""What `sensitivity` leaves beside its log: `sensitivity.csv`, `sensitivity.md`, `sensitivity.png`.

Owns: columns, captions. Does not own: the figures (`sensitivity`, `statistics`), drawing (`results.report`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.search.output import write_csv, write_text
from harness.search.seeds import seeds_text
from harness.search.sensitivity import SET, STEP_DOWN, STEP_UP, SensitivityPlan, SensitivityRow
from harness.search.statistics import SeedStatistics
from harness.search.sweep_files import REPORTED_RATE
from results.report.tables import Cell, markdown_table
from results.report.words import percent, percent_interval

_HEADINGS = ("parameter", "unit", "change", "value", "mean rate", "95 %", "difference (points)", "95 % of it")


def sensitivity_table(base: SeedStatistics, rows: Sequence[SensitivityRow]) -> str:
    """The base first, then every moved number, as Markdown."""
    cells: list[list[Cell]] = [["base", None, None, None, *_rate_cells(base), None, None]]
    for row in rows:
        variant, found = row.variant, row.difference
        spread = None
        if found is not None:
            spread = f"{100 * found.interval_t.low:+.1f} to {100 * found.interval_t.high:+.1f}"
        cells.append([
            variant.parameter, variant.unit, variant.change, f"{variant.value:.6g}", *_rate_cells(row.statistics),
            None if found is None else f"{100 * found.difference:+.1f}", spread,
        ])  # fmt: skip
    return markdown_table(_HEADINGS, cells)


def sensitivity_csv_rows(
    plan: SensitivityPlan, base: SeedStatistics, rows: Sequence[SensitivityRow]
) -> list[dict[str, object]]:
    """The base first, then every moved number, flat."""
    out = [_csv_row("base", "", "", None, base, 0.0, {})]
    for row in rows:
        variant, found = row.variant, row.difference
        difference = None if found is None else found.difference
        moved = {key: value for key, value in variant.arm.overrides.items() if plan.base.overrides.get(key) != value}
        out.append(
            _csv_row(variant.parameter, variant.unit, variant.change, variant.value, row.statistics, difference, moved)
        )
    return out


def write_sensitivity(
    folder: Path, plan: SensitivityPlan, base: SeedStatistics, rows: Sequence[SensitivityRow], command: str
) -> None:
    """Effect: writes the three files. Raises: StorageProblem."""
    write_csv(folder / "sensitivity.csv", sensitivity_csv_rows(plan, base, rows))
    note = f"Scenario {plan.base.scenario.name}, seeds {seeds_text(plan.seeds)}. Mean rate of corrupted sessions over"
    note += " seeds; differences are to the base, paired by seed.\n"
    write_text(folder / "sensitivity.md", f"    {command}\n\n{sensitivity_table(base, rows)}\n{note}")
    _draw(folder / "sensitivity.png", plan, base, rows)


def _rate_cells(statistics: SeedStatistics) -> list[Cell]:
    if statistics.low is None or statistics.high is None:
        return [percent(statistics.rate), None]
    return [percent(statistics.rate), percent_interval(statistics.low, statistics.high)]


def _csv_row(
    parameter: str,
    unit: str,
    change: str,
    value: float | None,
    statistics: SeedStatistics,
    difference: float | None,
    overrides: dict[str, str],
) -> dict[str, object]:
    return {
        "parameter": parameter,
        "unit": unit,
        "change": change,
        "value": value,
        "difference": difference,
        **asdict(statistics),
        "overrides": overrides,
    }


def _draw(path: Path, plan: SensitivityPlan, base: SeedStatistics, rows: Sequence[SensitivityRow]) -> None:
    # Drawing loads matplotlib, which costs more than everything that a refused command does.
    from harness.search.drawing import dot_of
    from results.report.dots import Dot, DotRow, plot_dots

    changes = [STEP_DOWN, STEP_UP, SET]
    by_parameter: dict[str, list[Dot | None]] = {}
    for row in rows:
        variant = row.variant
        label = variant.parameter if variant.kind != SET else f"{variant.parameter}, {variant.change}"
        dots = by_parameter.setdefault(label, [None] * len(changes))
        dots[changes.index(variant.kind)] = dot_of(row.statistics)
    plot_dots(
        path,
        [DotRow(label, dots) for label, dots in by_parameter.items()],
        title=f"{plan.base.scenario.name}, one number moved",
        x_label="corrupted sessions",
        series=[f"-{100 * plan.step:.3g} %", f"+{100 * plan.step:.3g} %", "as named"],
        caption=f"mean and 95 % interval over seeds {seeds_text(plan.seeds)}",
        target=REPORTED_RATE,
        reference=base.rate,
        reference_label="base",
    )
