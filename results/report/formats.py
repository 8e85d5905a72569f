"""The formats of a report: their names, the files they are written to, and one function for each.

Owns: the list, and writing files in one step. Does not own: any format. Floor 3. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from results import layout, parquet
from results.lines import encode_line
from results.report.html.page import render_html
from results.report.junit import render_junit
from results.report.markdown import render_markdown
from results.report.parts import Report
from results.report.prometheus import render_prometheus
from results.report.rate_table import rate_table

__all__ = [
    "DEFAULT_FORMATS",
    "FILE_NAMES",
    "TEXT_FORMATS",
    "render_html",
    "render_json",
    "render_junit",
    "render_markdown",
    "render_prometheus",
    "write_report",
    "write_reports",
]

_POINTS = "points"
"""Of a run: one entry a turn. It is left out of the JSON; `turns.parquet` of the run has more of it."""


def render_json(report: Report) -> str:
    """Every figure of the report as one JSON object, without the turns themselves."""
    # Through a line, because a text may hold half a surrogate pair, which JSON in UTF-8 cannot.
    plain = msgspec.json.decode(encode_line(msgspec.to_builtins(report)))
    for run in plain["runs"]:
        del run[_POINTS]
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"


TEXT_FORMATS: Mapping[str, Callable[[Report], str]] = {
    "html": render_html,
    "md": render_markdown,
    "junit": render_junit,
    "json": render_json,
    "prometheus": render_prometheus,
}
FILE_NAMES: Mapping[str, str] = {
    "html": "report.html",
    "md": "report.md",
    "junit": "junit.xml",
    "json": "report.json",
    "prometheus": "metrics.prom",
    "parquet": "rates.parquet",
}
DEFAULT_FORMATS = ("html", "md", "junit", "prometheus")


def write_report(report: Report, path: Path, name: str) -> Path:
    """Write one format to a file.

    Effect: writes `path` in one step. Raises: StorageProblem.
    """
    if name == "parquet":
        table = rate_table(report)
        layout.replace_file(path, lambda beside: parquet.write_table(table, beside))
    else:
        # Half a surrogate pair, which a reply may hold, is spelled out: UTF-8 cannot store it.
        content = TEXT_FORMATS[name](report).encode("utf-8", "backslashreplace")
        layout.replace_file(path, lambda beside: _write(beside, content))
    return path


def write_reports(report: Report, folder: Path, formats: Iterable[str] = DEFAULT_FORMATS) -> dict[str, Path]:
    """Write several formats into a folder under their usual names, and give the paths by format."""
    return {name: write_report(report, folder / FILE_NAMES[name], name) for name in formats}


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
