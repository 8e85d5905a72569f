"""A matrix on one screen: verdict, arms, comparisons, what a zero leaves open.

Owns: the words. Does not own: the figures (`record`), files and pages (`results.report`). Floor 3.
"""

from __future__ import annotations

from results.matrix.record import MatrixArm, MatrixRecord, NamedComparison
from results.report.tables import Cell, markdown_table
from results.report.words import percent, percent_interval, plural


def matrix_screen(record: MatrixRecord) -> str:
    """The whole screen; its first line can be grepped."""
    parts = [f"{headline(record)}\n{expectation_line(record)}\n", arms_table(record)]
    if record.comparisons:
        parts.append(comparison_table(record))
    parts.append("".join(f"{line}\n" for line in footnotes(record)))
    return "\n".join(parts)


def headline(record: MatrixRecord) -> str:
    """`CORRUPT  matrix of 5 arms x 10 seeds, 3,000 sessions: 2 of 5 arms corrupted: ...`."""
    sessions = sum(arm.sessions for arm in record.arms)
    size = f"matrix of {plural(len(record.arms), 'arm')} x {plural(len(record.seeds), 'seed')}"
    line = f"{record.verdict.upper()}  {size}, {plural(sessions, 'session')}: {record.verdict_reason}"
    return f"{line}\nINTERRUPTED  what was done is kept" if record.partial else line


def expectation_line(record: MatrixRecord) -> str:
    """Whether the arms did what their scenarios expect."""
    if record.expectations_hold:
        return "expectations hold: every arm did what its scenario expects"
    odd = [
        f"{arm.scenario} (expected {arm.expect}, is {arm.verdict}: {arm.verdict_reason})"
        for arm in record.arms
        if arm.expectation_held is not True
    ]
    words = "expectations do NOT hold" if record.expectations_hold is False else "expectations cannot be judged"
    return f"{words}: {'; '.join(odd)}"


def arms_table(record: MatrixRecord) -> str:
    headings = ["arm", "expected", "verdict", "corrupted sessions", "rate", "95 %", "single seeds", "p against control",
                "p, Holm", "host hits"]  # fmt: skip
    return markdown_table(headings, [_arm_cells(arm) for arm in record.arms])


def comparison_table(record: MatrixRecord) -> str:
    headings = ["first - second", "switch", "seeds", "difference", "95 %", "p", "p, Holm", "decided"]
    return markdown_table(headings, [_comparison_cells(one) for one in record.comparisons])


def footnotes(record: MatrixRecord) -> list[str]:
    """What the tables mean, and what they leave open."""
    how = (
        "p is of the paired permutation test over seeds; Holm's correction is over all comparisons."
        if record.sequential is None
        else f"Intervals and p hold at whichever seed it stopped: {record.sequential.method}."
    )
    lines = [f"The seed is the unit: sessions of one run share prefixes and loads. {how}"]
    lines += [f"{arm.scenario}: {arm.zero}." for arm in record.arms if arm.zero is not None]
    lines += dict.fromkeys(f"Caveat: {arm.caveat}." for arm in record.arms if arm.caveat is not None)
    if record.sequential is not None:
        lines.append(record.sequential.reason)
        lines += [str(claim["sentence"]) for claim in record.sequential.claims]
    return [*lines, *record.notes]


def p_text(p: float | None) -> str | None:
    """Two significant figures; a p below one in a thousand in powers of ten."""
    return None if p is None else f"{p:.2g}"


def _arm_cells(arm: MatrixArm) -> list[Cell]:
    return [
        arm.scenario,
        arm.expect,
        *rate_cells(arm),
        percent(arm.host_hit_share),
    ]


def rate_cells(arm: MatrixArm) -> list[Cell]:
    """Verdict, corrupted of judged, rate, its interval, range, both p."""
    return [
        str(arm.verdict),
        f"{arm.sessions_corrupted:,} of {arm.sessions_judged:,}",
        percent(arm.session_rate),
        percent_interval(*arm.session_ci95) if arm.session_ci95 is not None else None,
        percent_interval(arm.rate_min, arm.rate_max) if arm.rate_min is not None and arm.rate_max is not None else None,
        p_text(arm.p_vs_control),
        p_text(arm.p_vs_control_holm),
    ]


def _comparison_cells(one: NamedComparison) -> list[Cell]:
    return [one.name, one.factor, *difference_cells(one)]


def difference_cells(one: NamedComparison) -> list[Cell]:
    """How many units, difference, its interval, both p, decided or not."""
    return [
        one.seeds,
        None if one.difference is None else f"{100 * one.difference:+.1f} points",
        None if one.ci95 is None else f"{100 * one.ci95[0]:+.1f} to {100 * one.ci95[1]:+.1f}",
        p_text(one.p),
        p_text(one.p_holm),
        {True: "yes", False: "no", None: None}[one.decided],
    ]
