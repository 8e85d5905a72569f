"""A comparison on one screen.

Owns: the words. Does not own: the figures (`comparison`). Floor 3.
"""

from __future__ import annotations

from collections.abc import Mapping

from results.comparison.comparison import Comparison
from results.comparison.contrast import Contrast
from results.matrix.screen import p_text
from results.report.tables import Cell, markdown_table
from results.report.words import percent, plural

_KEYS_MAX = 8


def comparison_screen(found: Comparison) -> str:
    """The whole screen; its first line can be grepped."""
    headings = ["first - second", "unit", "units", "first", "second", "difference", "95 %", "p", "p, Holm"]
    table = markdown_table(headings, [_cells(one) for one in found.contrasts])
    lines = [line for one in found.contrasts for line in _notes(one)]
    head = f"{found.answer.upper()}  {found.first} - {found.second}: {found.reason}"
    return "\n".join([head, "", table, *dict.fromkeys(lines)]) + "\n"


def _cells(one: Contrast) -> list[Cell]:
    count = str(one.count_first) if one.count_first == one.count_second else f"{one.count_first} and {one.count_second}"
    return [
        one.name,
        one.unit,
        f"{count}, {'pairs' if one.is_paired else 'not paired'}",
        percent(one.rate_first),
        percent(one.rate_second),
        None if one.difference is None else f"{100 * one.difference:+.1f} points",
        None if one.ci95 is None else f"{100 * one.ci95[0]:+.1f} to {100 * one.ci95[1]:+.1f}",
        p_text(one.p),
        p_text(one.p_holm),
    ]


def _notes(one: Contrast) -> list[str]:
    lines = [f"{one.name}: {one.method}."]
    if one.is_identical:
        lines.append(f"{one.name}: every run has the same digest, so the outcomes are the same to the byte.")
    elif one.smallest_p is not None and not one.can_show:
        what = plural(min(one.count_first, one.count_second), one.unit)
        lines.append(f"{one.name}: {what} can show p = {one.smallest_p:.2g} at best, which decides nothing.")
    if one.assumption is not None:
        lines.append(f"{one.name}: {one.assumption}.")
    if one.differs_in:
        keys = [f"{key} {mine} / {theirs}" for key, (mine, theirs) in list(one.differs_in.items())[:_KEYS_MAX]]
        more = len(one.differs_in) - _KEYS_MAX
        lines.append(f"{one.name}: they differ in {', '.join(keys)}{f' and {more} keys more' if more > 0 else ''}.")
    if one.kinds_first != one.kinds_second:
        lines.append(f"{one.name}: corrupted turns by kind {_kinds(one.kinds_first)} / {_kinds(one.kinds_second)}.")
    return lines


def _kinds(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind.replace('_', ' ')}" for kind, count in kinds.items()) or "none"
