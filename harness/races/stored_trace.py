"""A stored trace, judged: its text, its JSON and its page.

Owns: opening the file, and what is shown of it. Does not own: judging (`kernels.races.detector`), pages. Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernels.errors import ConfigError
from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Verdict
from kernels.races.detector.stored import judge_file as judge_stored
from kernels.races.detector.stored import lines_of
from kernels.races.naming.naming import name_all
from kernels.races.report.as_json import race_json
from kernels.races.report.page_model import Note, Page, race_section, verdicts_of
from kernels.races.report.stored import near_numbers, near_races
from kernels.races.report.text import PREDICTED, trace_text
from kernels.races.search.result import RaceReport

EXIT_CODES = {Verdict.CLEAN: 0, Verdict.RACES: 1, Verdict.UNKNOWN: 4}


@dataclass(frozen=True, slots=True, eq=False)
class StoredTrace:
    """The verdict on a file, and its races with what lies around them."""

    file: str
    detector: Detector
    reports: tuple[RaceReport, ...]

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.detector.verdict]


def judge_file(file: str) -> StoredTrace:
    """Read a trace, and where it has races once more around them. Raises: ConfigError where it cannot be read."""
    path = Path(file)
    try:
        with path.open("rb") as stored:
            detector = judge_stored(stored)
        if detector.is_idle and not detector.problems:
            detector.give_up(detector.row_count, "no row up to here touches memory, so there is no order to judge")
        # What an unreadable trace shows before it breaks is no verdict.
        groups = [] if detector.problems else name_all(detector)
        reports = [RaceReport(group, detector) for group in groups]
        if groups:
            with path.open("rb") as stored:
                lines = lines_of(stored, near_numbers(groups))
                for report, trace in zip(reports, near_races(lines, groups), strict=True):
                    report.trace = trace
    except OSError as problem:
        what = f"the trace {file} cannot be read: {problem.strerror}"
        raise ConfigError(what, key="--trace", value=file) from problem
    return StoredTrace(file, detector, tuple(reports))


def stored_text(stored: StoredTrace) -> str:
    """The verdict, and the races of this one execution."""
    return trace_text(stored.detector, stored.reports)


def stored_json(stored: StoredTrace) -> dict[str, Any]:
    """The fields of `race --trace --json`."""
    detector = stored.detector
    problems = [{"line": problem.row, "reason": problem.reason} for problem in detector.problems]
    races = [race_json(report) for report in stored.reports]
    word = "ordered" if detector.verdict is Verdict.CLEAN else str(detector.verdict)
    return {"trace": stored.file, "verdict": word, "races": races, "problems": problems}


def stored_page(stored: StoredTrace) -> Page:
    """The same as a page, with the rows around each race as they ran."""
    caption = "As it ran in this one execution; what was found is that nothing orders the two, not that it went wrong."
    sections = [
        race_section(report, spell=str, unit="ns", said=PREDICTED, caption=caption) for report in stored.reports
    ]
    detector = stored.detector
    answer = {Verdict.CLEAN: "no", Verdict.RACES: "yes", Verdict.UNKNOWN: "cannot be told"}[detector.verdict]
    three = verdicts_of(answer, "not judged from a trace", "not judged from a trace")
    first, *others = stored_text(stored).splitlines()
    lines = () if sections else tuple(others)
    notes = [Note("trace", (stored.file, f"{detector.row_count:,} rows")), *([Note("why", lines)] if lines else [])]
    return Page(first, three, tuple(sections), (), tuple(notes))
