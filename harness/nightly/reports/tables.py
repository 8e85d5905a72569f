"""The tables of a night, as headings and rows of text.

Owns: columns and words, for Markdown and HTML alike. Floor 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.nightly.budget import span_text
from harness.nightly.history import ArmRow, NightRow
from harness.nightly.record import NightRecord
from harness.nightly.regression import SPEED
from results.matrix.screen import p_text
from results.report.words import percent, percent_interval, plural

NIGHTS_SHOWN = 14


@dataclass(frozen=True, slots=True)
class Table:
    """rows: as many cells as headings; the first names the row."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def check_table(record: NightRecord) -> Table:
    rows = [
        (check.name, str(check.status), check.sentence, span_text(check.wall_s) if check.wall_s else "-")
        for check in record.checks
    ]
    return Table("Checks", ("check", "status", "what came out", "time"), tuple(rows))


def comparison_table(record: NightRecord) -> Table:
    rows = [
        (
            one.name,
            str(one.status),
            _figure(one.name, one.baseline),
            _figure(one.name, one.tonight),
            p_text(one.p) or "-",
            p_text(one.p_holm) or "-",
            one.sentence,
        )
        for one in record.comparisons
    ]
    headings = ("comparison", "status", "baseline", "tonight", "p", "p, Holm", "what came out")
    return Table(f"Against the baseline of {record.baseline}", headings, tuple(rows))


def arm_table(record: NightRecord) -> Table:
    matrix = record.matrix
    rows = [
        (
            arm.scenario,
            arm.expect,
            str(arm.verdict),
            f"{arm.sessions_corrupted:,} of {arm.sessions_judged:,}",
            percent(arm.session_rate),
            "-" if arm.session_ci95 is None else percent_interval(*arm.session_ci95),
            arm.zero or "",
        )
        for arm in (() if matrix is None else matrix.arms)
    ]
    headings = ("arm", "expected", "verdict", "corrupted sessions", "rate", "95 %", "what a zero leaves open")
    return Table("Arms", headings, tuple(rows))


def history_table(rows: Sequence[NightRow]) -> Table:
    """The last nights, newest first."""
    shown = list(reversed(rows[-NIGHTS_SHOWN:]))
    arms = list(dict.fromkeys(arm for row in shown for arm in row.arms))
    cells = [
        (
            row.night,
            row.verdict + (", interrupted" if row.partial else ""),
            *(_arm_cell(row.arms.get(arm)) for arm in arms),
            "-" if row.command_s is None else f"{row.command_s:.1f} s",
            row.baseline or "-",
        )
        for row in shown
    ]
    headings = ("night", "verdict", *arms, "main command", "baseline")
    return Table(f"The last {plural(len(shown), 'night')}", headings, tuple(cells))


def _arm_cell(found: ArmRow | None) -> str:
    return "-" if found is None else f"{percent(found.rate)} ({found.corrupted:,} of {found.judged:,})"


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.1f} yardsticks" if name == SPEED else percent(value)
