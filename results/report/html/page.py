"""`render_html`: the report as one page that works from a file, without a script and without the network.

Owns: which figures and sections a page has, and how values are spelled in it. Everything that came from a server passes
through Jinja's escaping; the page's own policy forbids scripts and requests besides. Does not own: the layout of
figures (`rate_plots`, `time_plots`), the look (`style.css`). Floor 3. Source: ours; templates by Jinja.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from results.report.alone import HEADINGS
from results.report.html import rate_plots, time_plots
from results.report.html.marks import Plot
from results.report.html.proof_rows import proof_rows
from results.report.html.rate_plots import ForestRow
from results.report.parts import ArmPart, Bins, Report, RunPart, State, TurnPoint
from results.report.remarks import remarks
from results.report.words import (
    byte_size,
    kind_words,
    p_value,
    percent,
    percent_interval,
    percent_points,
    plural,
    ranges,
    sentence,
)
from results.stats.zero import bound_percent

_HERE = Path(__file__).parent
_STRUCK_MAX = 2_000


@dataclass(frozen=True, slots=True)
class _Binned:
    bins: Bins
    plot: Plot


@dataclass(frozen=True, slots=True)
class _Times:
    title: str
    words: str
    panels: Sequence[Plot]
    lanes: Plot | None
    lane_words: str


def render_html(report: Report) -> str:
    """The whole page as text."""
    focus = [run for run in report.runs if run.arm == report.focus]
    binned = [_Binned(bins, rate_plots.binned(bins)) for bins in report.bins]
    depth, doses = ([one for one in binned if one.bins.is_dose is is_dose] for is_dose in (False, True))
    first_wrong = rate_plots.first_wrong([point for run in focus for point in run.points])
    times = [_times(run, number) for number, run in enumerate(_shown_runs(report))]
    has = {
        "depth": bool(depth or first_wrong),
        "dose": bool(doses),
        "times": bool(times),
        "faults": bool(report.faults),
        "alone": report.alone is not None,
    }
    sections = [(name, title) for name, title in _SECTIONS if has.get(name, True)]
    return _environment().get_template("page.html").render(
        report=report,
        sections=sections,
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        forest=_forest(report),
        remarks=remarks(report.arms),
        proof_rows=proof_rows(report.arms),
        kinds=_kinds(report.arms),
        depth=depth,
        doses=doses,
        first_wrong=first_wrong,
        times=times,
        struck=_struck(report.runs),
        alone_headings=HEADINGS,
    )  # fmt: skip


_SECTIONS = (
    ("verdict", "Verdict"),
    ("faults", "Faults"),
    ("arms", "Rates"),
    ("kinds", "Kinds"),
    ("depth", "When and how deep"),
    ("dose", "Dose"),
    ("times", "Time lines"),
    ("evidence", "Evidence"),
    ("alone", "Asked again alone"),
    ("proof", "Path exercised"),
    ("configuration", "Configuration"),
    ("repeat", "Repeat"),
)


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "px": _px,
        "percent": percent,
        "bound": bound_percent,
        "interval": percent_interval,
        "points": percent_points,
        "pvalue": p_value,
        "number": _number,
        "bytes": _bytes,
        "plural": plural,
        "words": kind_words,
        "ranges": ranges,
        "sentence": sentence,
    }
    return environment


def _forest(report: Report) -> Plot:
    if report.is_matrix:
        rows = [ForestRow(arm.name, arm.sessions, arm.seed_rates) for arm in report.arms]
        return rate_plots.forest("forest", "Corrupted sessions by arm", "sessions corrupted", rows)
    (arm,) = report.arms
    rows = [ForestRow("sessions", arm.sessions), ForestRow("turns", arm.turns)]
    return rate_plots.forest("forest", "Corrupted sessions and turns", "corrupted, with 95 % interval", rows)


def _kinds(arms: Iterable[ArmPart]) -> Plot | None:
    several = len({arm.name for arm in arms if arm.kinds}) > 1
    rows = [
        ForestRow(f"{kind_words(row.kind)}, {arm.name}" if several else kind_words(row.kind), row.turns)
        for arm in arms
        for row in arm.kinds
    ]
    return rate_plots.forest("kinds", "Corrupted turns by kind", "turns corrupted", rows) if rows else None


def _struck(runs: Sequence[RunPart]) -> list[tuple[str, TurnPoint]]:
    """Every corrupted turn with the arm and seed of its run, up to a number that a page can hold."""
    struck = (
        (f"{run.arm}, seed {run.seed}", point) for run in runs for point in run.points if point.state is State.CORRUPTED
    )
    return list(islice(struck, _STRUCK_MAX))


def _shown_runs(report: Report) -> list[RunPart]:
    """Of each arm the run with the most corruption; the arm that the page is about comes first."""
    shown = []
    for arm in sorted(report.arms, key=lambda arm: arm.name != report.focus):
        runs = [run for run in report.runs if run.arm == arm.name and run.points]
        if runs:
            shown.append(max(runs, key=lambda run: run.session_rate or 0.0))
    return shown


def _times(run: RunPart, number: int) -> _Times:
    lanes, words = time_plots.lanes(run)
    return _Times(
        title=f"{run.arm}, seed {run.seed}",
        words=f"{plural(len(run.points), 'turn')} of {plural(run.sessions, 'session')}",
        panels=[_named(panel, number) for panel in time_plots.time_lines(run)],
        lanes=None if lanes is None else _named(lanes, number),
        lane_words=words,
    )


def _named(plot: Plot, number: int) -> Plot:
    """Names are ids of the page, so each run's figures need their own."""
    return replace(plot, name=f"{plot.name}-{number}")


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _number(value: int | None) -> str:
    return "not known" if value is None else f"{value:,}"


def _bytes(value: int | None) -> str:
    return "bytes not known" if value is None else byte_size(value)
