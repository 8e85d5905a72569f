"""What `arms` leaves beside its log: `arms.csv`, `arms.json`, `arms.md`, `arms.png`.

Owns: columns, sentences, captions. Does not own: the figures (`arms`, `statistics`), drawing (`results.report`).
Floor 5.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from harness.search.arms import FORMATS, GATE, ArmTable
from harness.search.output import write_csv, write_json, write_text
from harness.search.seeds import seeds_text
from harness.search.sweep_files import COLUMNS, REPORTED_RATE, STATISTIC_HEADINGS, statistic_cells
from results.report.tables import Cell, markdown_table
from results.report.words import percent
from results.stats.intervals import Interval
from results.stats.seeds import PairedDifference


def arms_table(table: ArmTable) -> str:
    """The arms as Markdown."""
    rows = [[row.scenario, *statistic_cells(row.statistics)] for row in table.rows]
    return markdown_table(["arm", *STATISTIC_HEADINGS], rows)


def arms_notes(table: ArmTable) -> str:
    """What the arms say together, in sentences."""
    notes = [f"Seeds {seeds_text(table.seeds)}. {COLUMNS}"]
    if table.formats is not None:
        notes.append(f"{FORMATS[0]} minus {FORMATS[1]}: {difference_text(table.formats)}.")
    if table.host_hit_ratio is not None:
        notes.append(f"Host-hit share of {GATE[0]} to that of {GATE[1]}: {table.host_hit_ratio:.3f}.")
    for row in table.rows:
        statistics = row.statistics
        if statistics.decode_stale_reads or statistics.at_rest_mismatches:
            notes.append(
                f"{row.scenario}: {statistics.decode_stale_reads} stale reads by decode and"
                f" {statistics.at_rest_mismatches} loaded pages that differ from their host copies: another bug."
            )
    return "\n".join(notes) + "\n"


def stale_layer_table(table: ArmTable) -> str:
    """Corrupted turns by how many layers their prefill read too early; poisoned turns are left out."""
    rows: list[list[Cell]] = [
        [row.scenario, layers, judged, corrupted, percent(corrupted / judged)]
        for row in table.rows
        if len(row.stale_layers) > 1
        for layers, (judged, corrupted) in row.stale_layers.items()
    ]
    if not rows:
        return ""
    return markdown_table(["arm", "layers read too early", "turns", "corrupted", "share"], rows)


def difference_text(found: PairedDifference) -> str:
    """`5.8 points (95 % 2.1 to 9.5 by t, ...; p = 0.003 by permutation, ...), higher in 15 of 20 seeds, lower in 3`."""

    def spread(interval: Interval) -> str:
        return f"{100 * interval.low:.1f} to {100 * interval.high:.1f}"

    return (
        f"{100 * found.difference:.1f} points (95 % {spread(found.interval_t)} by t,"
        f" {spread(found.interval_bootstrap)} by bootstrap; p = {found.p_permutation:.2g} by permutation,"
        f" {found.p_wilcoxon:.2g} by Wilcoxon), higher in {found.seeds_higher} and lower in {found.seeds_lower} of"
        f" {found.seed_count} seeds"
    )


def arms_object(table: ArmTable) -> dict[str, object]:
    """The object of `--json` and of arms.json."""
    return {
        "seeds": list(table.seeds),
        "arms": [
            {
                "scenario": row.scenario,
                **asdict(row.statistics),
                "rates": {str(seed): rate for seed, rate in row.rates.items()},
                "turns_by_stale_layers": {str(layers): counts for layers, counts in row.stale_layers.items()},
            }
            for row in table.rows
        ],
        "formats": None if table.formats is None else {"first_minus_second": list(FORMATS), **asdict(table.formats)},
        "host_hit_ratio": table.host_hit_ratio,
    }


def write_arms(folder: Path, table: ArmTable, command: str) -> None:
    """Effect: writes the four files. Raises: StorageProblem."""
    write_csv(folder / "arms.csv", [{"scenario": row.scenario, **asdict(row.statistics)} for row in table.rows])
    write_json(folder / "arms.json", arms_object(table))
    layers = stale_layer_table(table)
    sections = [f"    {command}\n", arms_table(table), arms_notes(table), *([layers] if layers else [])]
    write_text(folder / "arms.md", "\n".join(sections))
    _draw(folder / "arms.png", table)


def _draw(path: Path, table: ArmTable) -> None:
    # Drawing loads matplotlib, which costs more than everything that a refused command does.
    from harness.search.drawing import dot_of
    from results.report.dots import DotRow, plot_dots

    rows = [
        DotRow(row.scenario, [dot_of(row.statistics, [rate for rate in row.rates.values() if rate is not None])])
        for row in table.rows
    ]
    plot_dots(
        path,
        rows,
        title="Corrupted sessions by arm",
        x_label="corrupted sessions",
        caption=f"mean and 95 % interval over seeds {seeds_text(table.seeds)}; a tick for each seed",
        target=REPORTED_RATE,
    )
