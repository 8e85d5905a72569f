"""Markdown tables for the docs.

Owns: the spelling of a table. Floor 3. Source: GitHub-flavoured Markdown.
"""

from __future__ import annotations

from collections.abc import Sequence

Cell = str | int | float | None


def markdown_table(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table whose source is aligned, too. Columns of nothing but numbers are set to the right.

    Floats are shown with up to four significant digits; give a string where another form is wanted. None is a dash.
    """
    assert all(len(row) == len(headings) for row in rows), "every row has a cell for every heading"
    texts = [[_cell(heading) for heading in headings], *([_cell(cell) for cell in row] for row in rows)]
    widths = [max(3, *(len(row[column]) for row in texts)) for column in range(len(headings))]
    is_number = [_is_number_column([row[column] for row in rows]) for column in range(len(headings))]
    rule = [("-" * (width - 1) + ":") if right else "-" * width for width, right in zip(widths, is_number, strict=True)]
    return "".join(_row(row, widths, is_number) for row in (texts[0], rule, *texts[1:]))


def _row(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, is_number, strict=True)
    )
    return f"| {' | '.join(padded)} |\n"


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    text = f"{cell:.4g}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def _is_number_column(cells: Sequence[Cell]) -> bool:
    values = [cell for cell in cells if cell is not None]
    return bool(values) and all(isinstance(cell, int | float) for cell in values)
