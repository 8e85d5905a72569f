"""A night as Markdown, for an issue or a mail.

Owns: the order of sections. Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.nightly.budget import span_text
from harness.nightly.history import NightRow
from harness.nightly.record import NightRecord
from harness.nightly.reports.tables import Table, arm_table, check_table, comparison_table, history_table
from results.report.tables import markdown_table


def render_markdown(record: NightRecord, rows: Sequence[NightRow], faults: Sequence[str]) -> str:
    """The whole report; its first line is the verdict."""
    return "\n".join(_parts(record, rows, faults))


def _parts(record: NightRecord, rows: Sequence[NightRow], faults: Sequence[str]) -> Iterator[str]:
    yield f"**{record.verdict.upper()}** night {record.night}: {record.sentence}\n"
    if record.partial:
        yield "**INTERRUPTED**: what was done is kept.\n"
    spent = f"{span_text(record.wall_s)} of {span_text(record.budget_s)}"
    yield f"Took {spent}. Source {record.source}, revision {record.git_revision or 'unknown'}.\n"
    if record.notes:
        yield "".join(f"- {note}\n" for note in record.notes)
    tables = [check_table(record), comparison_table(record), arm_table(record), history_table(rows)]
    yield from (_section(table) for table in tables if table.rows)
    details = [f"- {check.name}: {line}\n" for check in record.checks for line in check.details]
    if details:
        yield f"## Details\n\n{''.join(details)}"
    repeats = [f"    {check.command}\n" for check in record.checks if check.command]
    if repeats:
        yield f"## Repeat\n\n{''.join(repeats)}"
    if faults:
        yield f"## What could not be read\n\n{''.join(f'- {fault}' for fault in faults)}\n"


def _section(table: Table) -> str:
    return f"## {table.title}\n\n{markdown_table(table.headings, table.rows)}"
