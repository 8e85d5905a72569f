"""Servers in blocks of time on one screen: verdict, arms, comparisons, what a zero leaves open.

Owns: the words. A server is no scenario: nothing is expected of it, and its unit is the block. Does not own: the
figures (`arms_record.py`), files and pages (`results/report`). Pure. Floor 5. Source: ours.
"""

from __future__ import annotations

from results.matrix.record import MatrixArm, MatrixRecord, NamedComparison
from results.matrix.screen import p_text
from results.report.tables import Cell, markdown_table
from results.report.words import percent, percent_interval, plural


def arms_screen(record: MatrixRecord) -> str:
    """The whole screen; its first line can be grepped."""
    headings = ["arm", "verdict", "corrupted sessions", "rate", "95 %", "single blocks", "p against last", "p, Holm"]
    parts = [f"{_headline(record)}\n", markdown_table(headings, [_arm_cells(arm) for arm in record.arms])]
    if record.comparisons:
        headings = ["first - second", "blocks", "difference", "95 %", "p", "p, Holm", "decided"]
        parts.append(markdown_table(headings, [_comparison_cells(one) for one in record.comparisons]))
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


def _arm_cells(arm: MatrixArm) -> list[Cell]:
    return [
        arm.scenario,
        str(arm.verdict),
        f"{arm.sessions_corrupted:,} of {arm.sessions_judged:,}",
        percent(arm.session_rate),
        percent_interval(*arm.session_ci95) if arm.session_ci95 is not None else None,
        percent_interval(arm.rate_min, arm.rate_max) if arm.rate_min is not None and arm.rate_max is not None else None,
        p_text(arm.p_vs_control),
        p_text(arm.p_vs_control_holm),
    ]


def _comparison_cells(one: NamedComparison) -> list[Cell]:
    return [
        one.name,
        one.seeds,
        None if one.difference is None else f"{100 * one.difference:+.1f} points",
        None if one.ci95 is None else f"{100 * one.ci95[0]:+.1f} to {100 * one.ci95[1]:+.1f}",
        p_text(one.p),
        p_text(one.p_holm),
        {True: "yes", False: "no", None: None}[one.decided],
    ]
