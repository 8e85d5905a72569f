"""`render_markdown`: the figures of a report as text for an issue or a pull request.

Owns: what a reader of an issue needs, in that order. Text that came from a server stands in fenced blocks that it
cannot close. Does not own: pictures (the HTML page has them). Floor 3. Source: GitHub-flavoured Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from results.report.alone import HEADINGS, AlonePart
from results.report.parts import ArmPart, Bins, EvidencePart, Rate, Report
from results.report.remarks import remarks
from results.report.tables import Cell, markdown_table
from results.report.words import (
    byte_size,
    kind_words,
    p_value,
    percent,
    percent_interval,
    percent_points,
    plural,
    sentence,
)

CARDS_MAX = 3
_CHARACTERS_MAX = 600
_FENCE_MIN = 3


def render_markdown(report: Report) -> str:
    """The whole report as Markdown, without pictures."""
    parts = [
        f"# {report.verdict.upper()}: {report.title}\n",
        f"{sentence(report.verdict_reason)}{' The run is incomplete.' if report.partial else ''}\n",
        *(f"{_inline(note)}\n" for note in report.notes),
        *_faults(report),
        "## Rates\n",
        _arms(report),
        f"{report.assumption}\n",
        *(f"{names}: {words}\n" for names, words in remarks(report.arms)),
        *_comparisons(report),
        *_kinds(report.arms),
        *(_bins(bins, report) for bins in report.bins),
        *_evidence(report),
        *_alone(report.alone),
        "## Was the path exercised?\n",
        _proof(report.arms),
        *_differing(report),
        "## How to repeat\n",
        *(f"{what}:\n\n    {command}\n" for what, command in report.repeat),
        markdown_table(("made with", ""), list(report.facts)),
    ]
    return "\n".join(parts)


def _faults(report: Report) -> list[str]:
    if not report.faults:
        return []
    return ["## What could not be read\n", "".join(f"- {_inline(fault)}\n" for fault in report.faults)]


def _arms(report: Report) -> str:
    headings = ["arm", "verdict", "seeds", "sessions corrupted", "rate", "95 %", "turns corrupted", "rate", "95 %"]
    headings += ["against", "p", "p (Holm)"] if report.is_matrix else []
    rows: list[list[Cell]] = []
    for arm in report.arms:
        row: list[Cell] = [arm.name, str(arm.verdict), len(arm.seeds), *_rate(arm.sessions), *_rate(arm.turns)]
        row += [arm.control, p_value(arm.p), p_value(arm.p_holm)] if report.is_matrix else []
        rows.append(row)
    return markdown_table(headings, rows)


def _rate(rate: Rate) -> tuple[str, str, str]:
    """Count, share, interval."""
    interval = "-" if rate.rate is None else percent_interval(rate.low, rate.high)
    return f"{rate.events:,} of {rate.units:,}", percent(rate.rate), interval


def _comparisons(report: Report) -> list[str]:
    if not report.comparisons:
        return []
    headings = ("comparison", "first", "second", "differs in", "seeds", "difference", "95 %", "p", "p (Holm)")
    rows = [
        (
            one.name,
            one.first,
            one.second,
            one.factor,
            one.seeds,
            percent_points(one.difference),
            "-" if one.low is None else f"{percent_points(one.low)} to {percent_points(one.high)}",
            p_value(one.p),
            p_value(one.p_holm),
        )
        for one in report.comparisons
    ]
    return ["## Comparisons, named before the runs were made\n", markdown_table(headings, rows)]


def _kinds(arms: Iterable[ArmPart]) -> list[str]:
    rows = [
        (arm.name, kind_words(row.kind), *_rate(row.turns), *_rate(row.sessions)) for arm in arms for row in arm.kinds
    ]
    if not rows:
        return []
    headings = ("arm", "kind", "turns", "rate", "95 %", "sessions by first kind", "rate", "95 %")
    return ["## Corruption by kind\n", markdown_table(headings, rows)]


def _bins(bins: Bins, report: Report) -> str:
    where = f", {bins.arm}" if report.is_matrix else ""
    table = markdown_table(
        (bins.x_label, "turns corrupted", "rate", "95 %"), [(one.label, *_rate(one.turns)) for one in bins.bins]
    )
    trend = f"\n{bins.trend}\n" if bins.trend else ""
    return f"<details><summary>{bins.title}{where}</summary>\n\n{table}{trend}\n</details>\n"


def _evidence(report: Report) -> list[str]:
    if not report.evidence:
        return []
    shown = report.evidence[:CARDS_MAX]
    parts = [f"## Evidence ({len(shown)} of {plural(report.evidence_total, 'corrupted turn')})\n"]
    for card in shown:
        parts += [
            f"### {kind_words(card.kind)}: session {card.session} turn {card.turn}, {card.arm} seed {card.seed}\n",
            f"At {card.sent_s:.3f} s, {card.origin}. {card.difference_note}.\n",
            f"Expected:\n\n{_fenced(card.expected)}\nReceived:\n\n{_fenced(card.received)}",
            f"Why:\n\n{_fenced(_reasons(card))}\nThe race behind it:\n\n{_fenced(chr(10).join(card.race))}",
        ]
    return parts


def _alone(part: AlonePart | None) -> list[str]:
    if part is None:
        return []
    facts = "".join(f"- {label}: {_inline(text)}\n" for label, text in part.facts)
    table = [markdown_table(HEADINGS, [tuple(map(_inline, row)) for row in part.rows])] if part.rows else []
    more = [f"And {part.left_out:,} more, in divergence.json of the run.\n"] if part.left_out else []
    return ["## The same turns, asked again alone\n", facts, *table, *more]


def _reasons(card: EvidencePart) -> str:
    lines = [f"{oracle} ({severity}): {reason}" for oracle, severity, reason in card.reasons]
    return "\n".join(lines if card.blame is None else [*lines, f"parser or engine? {card.blame}"])


def _fenced(text: str) -> str:
    """A block with a fence longer than any in the text."""
    rest = len(text) - _CHARACTERS_MAX
    shown = text if rest <= 0 else f"{text[:_CHARACTERS_MAX]}\n... and {rest:,} characters more"
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * max(_FENCE_MIN, longest + 1)
    return f"{fence}text\n{shown}\n{fence}\n"


def _inline(text: str) -> str:
    """Markup that a file name, an error text or a line of a server's log may hold stays text."""
    return re.sub(r"([\\`*_<>\[\]|#])", r"\\\1", text.replace("\n", " "))


def _proof(arms: Iterable[ArmPart]) -> str:
    rows = []
    for arm in arms:
        proof = arm.proof
        moved = "-" if proof.loaded_bytes is None else byte_size(proof.loaded_bytes)
        failed = [check.name for check in proof.checks if check.passed is False]
        unknown = [check.name for check in proof.checks if check.passed is None]
        said = "; ".join(
            [f"failed: {', '.join(failed)}"] * bool(failed) + [f"not known: {', '.join(unknown)}"] * bool(unknown)
        )
        rows.append(
            (
                arm.name,
                proof.overlap,
                proof.host_hit_turns,
                proof.turns,
                proof.load_backs,
                moved,
                proof.stale_reads,
                said or "all passed",
            )
        )
    headings = ("arm", "most at once", "host-hit turns", "turns", "load-backs", "moved", "stale reads", "checks")
    return markdown_table(headings, rows)


def _differing(report: Report) -> list[str]:
    if not report.differing:
        return []
    headings = ("key", *(arm.name for arm in report.arms))
    rows = [(row.key, *row.values) for row in report.differing]
    return ["## What differs between the arms\n", markdown_table(headings, rows)]
