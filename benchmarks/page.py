"""Measured tables in a document: each stands between two markers and is made again from stored figures.

Owns: the markers `<!-- table: NAME -->` and `<!-- end -->`, and Markdown tables. Does not own: any figure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Figures:
    """One table, and the sentence that says how it was measured."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]
    measured: str


def store(path: Path, tables: Mapping[str, Figures]) -> dict[str, Figures]:
    """Put new tables beside those that were measured before, and give them all."""
    known = load(path) | dict(tables)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({name: asdict(table) for name, table in known.items()}, indent=1) + "\n")
    return known


def load(path: Path) -> dict[str, Figures]:
    stored: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    return {
        name: Figures(tuple(table["columns"]), tuple(map(tuple, table["rows"])), table["measured"])
        for name, table in stored.items()
    }


def refill(page: Path, tables: Mapping[str, Figures]) -> None:
    """Write every block again whose table is known."""
    text = page.read_text(encoding="utf-8")
    page.write_text(_BLOCK.sub(lambda match: _block(match, tables), text), encoding="utf-8")


def _block(match: re.Match[str], tables: Mapping[str, Figures]) -> str:
    table = tables.get(match["name"])
    return match[0] if table is None else f"{match[1]}{markdown(table)}{match[3]}"


def markdown(table: Figures) -> str:
    rules = ["---", *["---:"] * (len(table.columns) - 1)]
    lines: Sequence[Sequence[object]] = (table.columns, rules, *table.rows)
    text = "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    return f"\n{text}\n{table.measured}\n\n"
