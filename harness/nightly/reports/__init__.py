"""What a night shows: Markdown, HTML, JUnit XML, Prometheus text, and the one-line verdict.

Owns: which files there are and where. The newest of each lies in the home folder too, so that a dashboard, a CI job or
a person has one path to look at. Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.nightly.history import NightRow
from harness.nightly.record import NightRecord
from harness.nightly.reports.junit import render_junit
from harness.nightly.reports.markdown import render_markdown
from harness.nightly.reports.page import render_page
from harness.nightly.reports.prometheus import render_prometheus
from harness.nightly.trend import draw_trend
from results import layout

VERDICT = "verdict.txt"
NAMES: Mapping[str, str] = {
    "html": "report.html", "md": "report.md", "junit": "junit.xml", "prometheus": "metrics.prom", "verdict": VERDICT,
}  # fmt: skip


def write_reports(
    home: Path, folder: Path, record: NightRecord, rows: Sequence[NightRow], faults: Sequence[str]
) -> dict[str, Path]:
    """Write every report of a night. Effect: files in its folder, and the same in the home folder, each in one step.

    Returns: the paths in the night's folder, by format. Raises: StorageProblem.
    """
    figures = draw_trend(folder, rows)
    texts = {
        "html": render_page(record, rows, figures, faults),
        "md": render_markdown(record, rows, faults),
        "junit": render_junit(record),
        "prometheus": render_prometheus(record),
        "verdict": record.headline + "\n",
    }
    for place in (folder, home):
        for name, text in texts.items():
            layout.replace_file(place / NAMES[name], _writer(text.encode()))
    for figure in figures:
        layout.replace_file(home / figure.name, _writer(figure.read_bytes()))
    paths = {name: folder / file for name, file in NAMES.items()}
    return paths | {figure.stem: figure for figure in figures}


def _writer(content: bytes) -> Callable[[Path], None]:
    def write(beside: Path) -> None:
        beside.write_bytes(content)

    return write
