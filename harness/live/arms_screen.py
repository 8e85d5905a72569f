"""Servers in blocks of time on one screen: verdict, arms, comparisons, what a zero leaves open.

Owns: the words. A server is no scenario: nothing is expected of it, and its unit is the block. Does not own: the
figures (`arms_record.py`), files and pages (`results/report`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

from results.matrix.record import MatrixRecord
from results.matrix.screen import difference_cells, rate_cells
from results.report.tables import markdown_table
from results.report.words import plural


def arms_screen(record: MatrixRecord) -> str:
    """The whole screen; its first line can be grepped."""
    headings = ["arm", "verdict", "corrupted sessions", "rate", "95 %", "single blocks", "p against last", "p, Holm"]
    parts = [
        f"{_headline(record)}\n",
        markdown_table(headings, [[arm.scenario, *rate_cells(arm)] for arm in record.arms]),
    ]
    if record.comparisons:
        headings = ["first - second", "blocks", "difference", "95 %", "p", "p, Holm", "decided"]
        parts.append(markdown_table(headings, [[one.name, *difference_cells(one)] for one in record.comparisons]))
    parts.append("".join(f"{line}\n" for line in _footnotes(record)))
    return "\n".join(parts)


def _headline(record: MatrixRecord) -> str:
    sessions = sum(arm.sessions for arm in record.arms)
    size = f"{plural(len(record.arms), 'arm')} x {plural(len(record.seeds), 'block')}, {plural(sessions, 'session')}"
    line = f"{record.verdict.upper()}  {size}: {record.verdict_reason}"
    return f"{line}\nINTERRUPTED  what was done is kept" if record.partial else line


def _footnotes(record: MatrixRecord) -> list[str]:
    lines = ["The block is the unit: sessions of one block share prefixes and a server. p is of the paired permutation "
             "test over blocks; Holm's correction is over all comparisons."]  # fmt: skip
    lines += [f"{one.name}: {one.reason}." for one in record.comparisons if one.ci95 is None]
    lines += [f"{arm.scenario}: {arm.zero}." for arm in record.arms if arm.zero is not None]
    lines += dict.fromkeys(f"Caveat: {arm.caveat}." for arm in record.arms if arm.caveat is not None)
    return [*lines, *record.notes]
