"""The report as terminal text: the first line of a race can be grepped, one race a signature, the others folded.

Owns: layout. Does not own: wording of parts (phrases), the timeline. Floor 2b.
Source: facts/concurrency.md section 6 (the example there is the layout).
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Race, Verdict
from kernels.races.naming.codes import Finding
from kernels.races.naming.naming import Group, name_all
from kernels.races.report.commands import commands
from kernels.races.report.differing import difference_words
from kernels.races.report.phrases import (
    access_columns,
    counted,
    effect_parts,
    evidence_columns,
    headline,
    mend_place,
    mend_sentence,
    repro_sentence,
    spans,
    verdicts,
)
from kernels.races.report.timeline import timeline
from kernels.races.search.difference import OrderDifference
from kernels.races.search.result import Answer, Exploration, RaceReport

PREDICTED = "predicted from one execution"


def exploration_text(result: Exploration) -> str:
    """Everything that an exploration found, and what it says."""
    return "\n\n".join([*findings_text(result), verdict_line(result)]) + "\n"


def findings_text(result: Exploration) -> list[str]:
    """The races, other failures and masked accesses, each a text of its own."""
    return [*(race_text(report) for report in result.races), *other_findings(result)]


def other_findings(result: Exploration) -> list[str]:
    """Failures that no unordered pair explains, and masked accesses: one line each."""
    parts: list[str] = []
    explained = {str(report.token) for report in result.races}
    for failure in result.failures:
        if str(failure.token) not in explained:
            error = f": {failure.outcome.error}" if failure.outcome.error else ""
            parts.append(f"FAILS {', '.join(failure.key)}{error}   no unordered pair   token {failure.token}")
    for masked in result.masked:
        head = f"MASKED {masked}; {masked.count:,} such access{'' if masked.count == 1 else 'es'}"
        parts.append("\n".join([head, *(f"  {line}" for line in masked.details)]))
    return parts


def verdict_line(result: Exploration) -> str:
    """The last line: the answer, and how much was looked at. Never `clean` without exhaustion."""
    looked = f"{counted(result.stats.schedules, 'schedule')}, {counted(result.stats.orders, 'order')}"
    if result.answer is Answer.CLEAN:
        return f"CLEAN {result.program}: {counted(result.stats.orders, 'order')}, exhausted: clean for this workload"
    if result.answer is Answer.BOUNDED:
        return f"BOUNDED {result.program}: nothing found in {looked}; not exhausted (budget {result.budget:,})"
    word = "RACES" if result.races else "FAILS"
    return f"{word} {result.program}: {'; '.join(map(': '.join, verdicts(result)))}   ({looked})"


def race_text(report: RaceReport) -> str:
    """One signature, in full."""
    finding = report.group.shown
    lines = [headline(report), "", *_accesses(finding), "", *_why(finding), "", *_add(finding)]
    if report.mend is not None:
        lines.append(f"  checked  with that edge: {mend_sentence(report.mend)}")
    if report.trace is not None:
        lines += ["", *(f"  {line}" for line in timeline(report.trace, finding.race))]
    if report.difference is not None:
        lines += ["", *difference_text(report.difference, finding.race)]
    lines += ["", *_tail(report)]
    return "\n".join(line.rstrip() for line in lines)


def difference_text(difference: OrderDifference, race: Race) -> list[str]:
    """What differs from the nearest order that passes."""
    words = difference_words(difference, race)
    lines = [f"  differs  {words.head}"]
    lines += [f"           passing  {line}" for line in words.passing]
    lines += [f"           failing  {line}" for line in words.failing]
    lines += [f"           {words.more}"] if words.more else []
    return lines + [f"           so       {line}" for line in words.sees]


def trace_text(detector: Detector, reports: Sequence[RaceReport] | None = None) -> str:
    """The verdict on a trace alone: nothing was run again, so nothing is confirmed and nothing is called exhausted.

    reports: its races, where more is known of them than the detector kept.
    """
    if detector.verdict is Verdict.UNKNOWN:
        lines = [f"line {problem.row}: {problem.reason}" for problem in detector.problems]
        return "\n".join(["UNKNOWN the trace cannot be judged", *lines]) + "\n"
    if detector.verdict is Verdict.CLEAN:
        return f"ORDERED {counted(detector.row_count, 'row')}: nothing unordered in this one execution\n"
    if reports is None:
        reports = [RaceReport(group, detector) for group in name_all(detector)]
    return "\n\n".join(map(predicted_text, reports)) + "\n"


def predicted_text(report: RaceReport, said: str = PREDICTED) -> str:
    """A race of one execution that was not run again. said: what stands in place of the confirmation."""
    finding = report.group.shown
    lines = [headline(report, said), "", *_accesses(finding), "", *_why(finding), "", *_add(finding)]
    return "\n".join(line.rstrip() for line in [*lines, *_also(report.group)])


def _accesses(finding: Finding) -> list[str]:
    race = finding.race
    upper, lower = _aligned([access_columns(race.second, race), access_columns(race.first, race)])
    return [f"  {upper}", "  is not ordered after", f"  {lower}"]


def _why(finding: Finding) -> list[str]:
    lines = ["  why nothing orders them", f"    {finding.because}"]
    if finding.evidence:
        lines += [f"    {row}" for row in _aligned([evidence_columns(row) for row in finding.evidence])]
    return lines


def _add(finding: Finding) -> list[str]:
    place = mend_place(finding)
    return [f"  add      {finding.mend}", *([f"           {place}"] if place else [])]


def _tail(report: RaceReport) -> list[str]:
    lines: list[str] = []
    effect = effect_parts(report.effect)
    if effect:
        lines.append(f"  effect   {'; '.join(effect)}")
    if report.token is not None:
        lines.append(f"  repro    {repro_sentence(report)}")
        lines += [f"           {command}" for command in commands(report.token)]
    return lines + _also(report.group)


def _also(group: Group) -> list[str]:
    others = group.race_count - 1
    if not others:
        return []
    return [f"  also     {counted(others, 'race')} with this signature, layers {spans(group.layers)}"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
