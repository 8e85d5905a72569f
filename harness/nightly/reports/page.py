"""A night as one HTML page that works from a file, without a script and without the network.

Owns: what is on it. Everything passes through Jinja's escaping. Does not own: tables (`tables`), figures (`trend`), the
look, which is that of the report of a run (`results.report.html`). Floor 5.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import results.report.html as look
from harness.nightly.budget import span_text
from harness.nightly.history import NightRow
from harness.nightly.record import NightRecord
from harness.nightly.reports.tables import arm_table, check_table, comparison_table, history_table

_HERE = Path(__file__).parent


def render_page(record: NightRecord, rows: Sequence[NightRow], figures: Sequence[Path], faults: Sequence[str]) -> str:
    """The whole page as text. figures: SVG files, which become part of the page."""
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)  # fmt: skip
    style = (Path(look.__file__).parent / "style.css").read_text(encoding="utf-8")
    tables = [check_table(record), comparison_table(record), arm_table(record), history_table(rows)]
    return environment.get_template("page.html").render(
        record=record,
        style=style,
        tables=[table for table in tables if table.rows],
        figures=[(figure.stem, b64encode(figure.read_bytes()).decode()) for figure in figures],
        spent=f"{span_text(record.wall_s)} of {span_text(record.budget_s)}",
        faults=faults,
    )
