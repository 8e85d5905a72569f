"""The pages of `race --html` and `replay --html`, and writing them.

Owns: what a look or a replay puts on its page, and the file. Does not own: the page itself (`kernels.races.report`),
stored traces (`stored_page`). Floor 5.
"""

from __future__ import annotations

from pathlib import Path

from harness.races.looking import Look
from harness.races.replaying import IN_THIS, Replayed, head_of, order_lines
from harness.races.sentences import notes_of, price_words, usable, verdict_of
from harness.races.workload import Target
from kernels.errors import ConfigError, EnvironmentProblem
from kernels.races.report.commands import spelt
from kernels.races.report.html import page_html
from kernels.races.report.page_model import (
    Note,
    Page,
    RaceSection,
    order_views,
    race_section,
    three_verdicts,
    verdicts_of,
)
from kernels.races.report.text import PREDICTED, other_findings

REMEDY = "give --html the path of a file, in a folder that can be written to"


def look_page(look: Look) -> Page:
    """What was found, in the order of the text report."""
    sections: list[RaceSection] = []
    for report, price_ns in zip(look.result.races, look.prices_ns, strict=True):
        sections.append(race_section(report, spell=lambda text: usable(text, look), price=price_words(price_ns)))
    sections += [race_section(report, spell=str, said=PREDICTED) for report in look.predicted]
    findings = [usable(text, look) for text in other_findings(look.result)]
    verdict = verdict_of(look)
    fails = findings if look.result.failures else []
    # The first line of the text report.
    title = [*(section.line for section in sections), *fails, verdict][0]
    answer = [Note("answer", (verdict,))] if title != verdict else []
    notes = [*notes_of(look), *answer]
    return Page(usable(title, look), three_verdicts(look.result), tuple(sections), tuple(findings), tuple(notes))


def replay_page(done: Replayed, target: Target) -> Page:
    """One order, run."""

    def spell(text: str) -> str:
        return spelt(text, {}, target.options)

    caption = "The order of the token."
    sections = [race_section(report, spell=spell, said=IN_THIS, caption=caption) for report in done.reports]
    outcome = done.outcome
    three = verdicts_of(
        "yes" if done.races else "no",
        "yes" if outcome.stale or outcome.lost else "no",
        "yes" if outcome.error else "not by its own checks",
    )
    notes = [Note(name, (line,)) for name, line in order_lines(done)]
    views = () if sections else order_views(done.replay.trace, done.edges)
    return Page(head_of(done), three, tuple(sections), (), tuple(notes), views)


def check_page_path(file: str | None) -> None:
    """Before anything is looked at. Raises: ConfigError for a path that cannot be a page."""
    if file is not None and (not file or Path(file).is_dir()):
        what = f"--html {file or repr(file)} is {'a folder' if file else 'no path'}, not a file"
        raise ConfigError(f"{what}; {REMEDY}", key="--html", value=file)


def write_page(page: Page, file: str) -> str:
    """Write a page. Returns: a sentence about it. Raises: EnvironmentProblem where the file cannot be written."""
    path = Path(file)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page_html(page), encoding="utf-8")
    except OSError as problem:
        what = f"the page {file} cannot be written: {problem.strerror}"
        raise EnvironmentProblem(what, remedy=REMEDY) from problem
    return f"wrote {file}: open it in a browser; it needs no network"
