"""The page of a race report as data: what stands in it, in order. Frozen before anything is rendered.

Owns: the records, and filling them from reports. Does not own: HTML (`html`), wording (`phrases`), diagrams.
Floor 2b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kernels.races.detector.race import Side
from kernels.races.naming.codes import Finding
from kernels.races.report.commands import commands
from kernels.races.report.diagram import close_up, marked, whole
from kernels.races.report.differing import DifferenceWords, difference_words
from kernels.races.report.drawing import NANOSECONDS, Drawing, drawn
from kernels.races.report.phrases import (
    confirmation,
    counted,
    effect_parts,
    evidence_columns,
    headline,
    mend_place,
    mend_sentence,
    name_of,
    place_of,
    repro_sentence,
    site_of,
    spans,
    verdicts,
)
from kernels.races.search.mending import Edge
from kernels.races.search.result import Exploration, RaceReport
from kernels.substrate.sites import frames_of
from kernels.substrate.trace import MemoryTrace

Spell = Callable[[str], str]
"""Makes a command work as it stands (`commands.spelt`)."""


class VerdictCard(NamedTuple):
    """One of the three, and where it comes from."""

    name: str
    answer: str
    by: str


class Note(NamedTuple):
    """A line below the races: its name, and what it says."""

    name: str
    lines: tuple[str, ...]


class AccessCard(NamedTuple):
    """One of the two accesses. frames: its call site, the innermost first."""

    mode: str
    number: str
    label: str
    stream: str
    thread: str
    frames: tuple[str, ...]


class View(NamedTuple):
    """One picture of an order."""

    name: str
    caption: str
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class RaceSection:
    """One race. folded: the others of its signature, one a line. checked: empty where the wait was not tried.

    fate: of the wait: `closed`, `broken` where it is no fix, `untried`.
    """

    line: str
    place: str
    name: str
    said: str
    token: str
    accesses: tuple[AccessCard, AccessCard]
    because: str
    evidence: tuple[tuple[str, ...], ...]
    add: str
    add_at: str
    checked: str
    fate: str
    views: tuple[View, ...]
    difference: DifferenceWords | None
    effect: str
    repro: str
    commands: tuple[str, ...]
    folded_head: str
    folded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """title: the first line of the text report. word: RACE, FAILS, CLEAN, BOUNDED, UNKNOWN, HOLDS or ORDERED."""

    title: str
    verdicts: tuple[VerdictCard, ...]
    races: tuple[RaceSection, ...]
    findings: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    views: tuple[View, ...] = ()

    @property
    def word(self) -> str:
        return self.title.split(maxsplit=1)[0]


_BY = ("by happens-before", "by version tags of pages", "by the program's own assertions")


def three_verdicts(result: Exploration) -> tuple[VerdictCard, ...]:
    """Of an exploration."""
    return tuple(VerdictCard(name, answer, by) for (name, answer), by in zip(verdicts(result), _BY, strict=True))


def verdicts_of(unordered: str, stale: str, output: str) -> tuple[VerdictCard, ...]:
    """Of one execution, each in a word or two."""
    names = ("unordered", "stale bytes observed", "output changed")
    return tuple(VerdictCard(*one) for one in zip(names, (unordered, stale, output), _BY, strict=True))


def race_section(
    report: RaceReport, *, spell: Spell, unit: str = "step", said: str = "", price: str = "", caption: str = ""
) -> RaceSection:
    """One race, with its pictures. unit: of the trace's times. said: as in `headline`. price: of the wait, in words.

    caption: of the first picture, where it is not the failing order of a search.
    """
    finding, check, token = report.group.shown, report.mend, report.token
    race = finding.race
    checked = mend_sentence(check) if check is not None else ""
    return RaceSection(
        line=headline(report, said),
        place=place_of(race),
        name=name_of(finding),
        said=said or confirmation(report),
        token=spell(str(token)) if token is not None else "",
        accesses=(_card(race.second, finding), _card(race.first, finding)),
        because=finding.because,
        evidence=tuple(evidence_columns(row) for row in finding.evidence),
        add=str(finding.mend),
        add_at=mend_place(finding),
        checked="; ".join(part for part in (checked, price) if part) if checked else "",
        fate="untried" if check is None else "closed" if check.is_closed else "broken",
        views=tuple(_views(report, unit, caption)),
        difference=difference_words(report.difference, race) if report.difference is not None else None,
        effect="; ".join(effect_parts(report.effect)),
        repro=repro_sentence(report),
        commands=tuple(spell(command) for command in commands(token)) if token is not None else (),
        folded_head=_folded_head(report),
        folded=tuple(_folded(report)),
    )


def order_views(trace: MemoryTrace, edges: Sequence[Edge]) -> tuple[View, ...]:
    """An order that has no race, where it can be drawn. edges: that were added to it, and are marked."""
    diagram = marked(trace, edges)
    if diagram is None:
        return ()
    name, said = (
        ("With the wait", "The order that the added wait leaves.") if edges else ("All operations", "The order.")
    )
    caption = f"{said} Time runs down; the margin counts steps, rows are not to scale."
    return (View(name, caption, drawn(diagram, "step")),)


def _card(side: Side, finding: Finding) -> AccessCard:
    operation = side.operation
    mode = "write" if side.is_write else "read"
    frames = tuple(frames_of(site_of(side, finding.race)))
    return AccessCard(mode, f"#{operation.ordinal}", operation.label, operation.stream, operation.thread, frames)


def _views(report: RaceReport, unit: str, caption: str) -> Sequence[View]:
    trace, finding = report.trace, report.group.shown
    if trace is None:
        return []
    counts = "microseconds from the first row" if unit == NANOSECONDS else f"{unit}s"
    margin = f"Time runs down; the margin counts {counts}, rows are not to scale."
    said = caption or "The order that fails."
    stale = report.effect.stale if report.effect is not None else ()
    pictures = [("Close up" if caption else "Failing order", said, close_up(trace, finding, stale))]
    if report.difference is not None:
        luck = "The nearest order that passes: nothing orders the two here either, it came right by luck."
        pictures.append(("Nearest passing order", luck, close_up(report.difference.passing, finding)))
    pictures.append(("All operations", f"{said} All operations that are known.", whole(trace, finding, stale)))
    return [View(name, f"{text} {margin}", drawn(diagram, unit)) for name, text, diagram in pictures if diagram]


def _folded_head(report: RaceReport) -> str:
    others = report.group.race_count - 1
    if not others:
        return ""
    return f"{counted(others, 'race')} with this signature, layers {spans(report.group.layers)}"


def _folded(report: RaceReport) -> Sequence[str]:
    lines: list[str] = []
    for finding in report.group.others:
        first, second = finding.race.first.operation, finding.race.second.operation
        times = f" ({1 + finding.race.repeats} times)" if finding.race.repeats else ""
        pair = f"#{second.ordinal} {second.label} not after #{first.ordinal} {first.label}"
        lines.append(f"{place_of(finding.race)}  {pair}{times}; add {finding.mend}")
    return lines
