"""Files of a campaign beside its log: CSV, JSON and Markdown, each written in one step.

Owns: their encoding. Does not own: their contents (the questions' own files). Floor 5.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path

import msgspec

from results import layout

CsvRow = Mapping[str, object]


def write_csv(path: Path, rows: Sequence[CsvRow]) -> None:
    """The first row's keys are the headings. Mappings become `key=value` words, None an empty cell."""
    out = StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    write_text(path, out.getvalue())


def write_json(path: Path, value: object) -> None:
    write_text(path, json_text(value))


def json_text(value: object) -> str:
    """Plain values, records and mappings as indented JSON."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def write_text(path: Path, text: str) -> None:
    """Raises: StorageProblem."""
    layout.replace_file(path, lambda beside: _write(beside, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _cell(value: object) -> object:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={inner}" for key, inner in value.items())
    return "" if value is None else value
