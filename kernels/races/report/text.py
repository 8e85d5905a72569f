"""The report as terminal text: the first line of a race can be grepped, one race a signature, the others folded.

Owns: layout. Does not own: wording of parts (phrases), the timeline. Floor 2b.
Source: facts/concurrency.md section 6 (the example there is the layout).
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Verdict
from kernels.races.naming.codes import Finding
from kernels.races.naming.naming import Group, name_all
from kernels.races.report.phrases import (
    access_columns,
    confirmation,
    counted,
    effect_parts,
    evidence_columns,
    mend_sentence,
    place_of,
    spans,
)
from kernels.races.report.timeline import timeline
from kernels.races.search.result import Answer, Exploration, RaceReport

REPLAY_COMMAND = "python run.py replay"
TRACE_COMMAND = "python run.py trace"


def exploration_text(result: Exploration) -> str:
    """Everything that an exploration found, and what it says."""
    return "\n\n".join([*findings_text(result), verdict_line(result)]) + "\n"


def findings_text(result: Exploration) -> list[str]:
    """The races, other failures and masked accesses, each a text of its own."""
    parts = [race_text(report) for report in result.races]
    explained = {str(report.token) for report in result.races}
    for failure in result.failures:
        if str(failure.token) not in explained:
            error = f": {failure.outcome.error}" if failure.outcome.error else ""
            parts.append(f"FAILS {', '.join(failure.key)}{error}   no unordered pair   token {failure.token}")
    parts += [f"MASKED {masked}; {counted(masked.count, 'such access')[:-1]}es" for masked in result.masked]
    return parts


def verdict_line(result: Exploration) -> str:
    """The last line: the answer, and how much was looked at. Never `clean` without exhaustion."""
    looked = f"{counted(result.stats.schedules, 'schedule')}, {counted(result.stats.orders, 'order')}"
    if result.answer is Answer.CLEAN:
        return f"CLEAN {result.program}: {counted(result.stats.orders, 'order')}, exhausted: clean for this workload"
    if result.answer is Answer.BOUNDED:
        return f"BOUNDED {result.program}: nothing found in {looked}; not exhausted (budget {result.budget:,})"
    verdicts = [
        f"unordered: {'yes' if result.is_unordered else 'no'}",
        f"stale bytes observed: {'yes' if result.saw_stale_bytes else 'no'}",
        f"output changed: {'yes' if result.changed_output else 'not by its own checks'}",
    ]
    word = "RACES" if result.races else "FAILS"
    return f"{word} {result.program}: {'; '.join(verdicts)}   ({looked})"


def race_text(report: RaceReport) -> str:
    """One signature, in full."""
    finding = report.group.shown
    token = f"   token {report.token}" if report.token is not None else ""
    head = f"RACE  {place_of(finding.race)}   {_name(finding)}   {confirmation(report)}{token}"
    lines = [head, "", *_accesses(finding), "", *_why(finding), "", f"  add      {finding.mend}"]
    if report.mend is not None:
        lines.append(f"  checked  with that edge: {mend_sentence(report.mend)}")
    if report.trace is not None:
        lines += ["", *(f"  {line}" for line in timeline(report.trace, finding.race))]
    lines += ["", *_tail(report)]
    return "\n".join(line.rstrip() for line in lines)


def trace_text(detector: Detector) -> str:
    """The verdict on a trace alone: nothing was run again, so nothing is confirmed and nothing is called exhausted."""
    if detector.verdict is Verdict.UNKNOWN:
        lines = [f"line {problem.row}: {problem.reason}" for problem in detector.problems]
        return "\n".join(["UNKNOWN the trace cannot be judged", *lines]) + "\n"
    if detector.verdict is Verdict.CLEAN:
        return f"ORDERED {counted(detector.row_count, 'row')}: nothing unordered in this one execution\n"
    parts = [predicted_text(group) for group in name_all(detector)]
    return "\n\n".join(parts) + "\n"


def predicted_text(group: Group) -> str:
    """A race of one execution that was not run again."""
    finding = group.shown
    lines = [f"RACE  {place_of(finding.race)}   {_name(finding)}   predicted from one execution", ""]
    lines += [*_accesses(finding), "", *_why(finding), "", f"  add      {finding.mend}", *_also(group)]
    return "\n".join(line.rstrip() for line in lines)


def _name(finding: Finding) -> str:
    return f"{finding.code} on {finding.mend.event}"


def _accesses(finding: Finding) -> list[str]:
    second, first = access_columns(finding.race.second), access_columns(finding.race.first)
    upper, lower = _aligned([second, first])
    return [f"  {upper}", "  is not ordered after", f"  {lower}"]


def _why(finding: Finding) -> list[str]:
    lines = ["  why nothing orders them", f"    {finding.because}"]
    if finding.evidence:
        lines += [f"    {row}" for row in _aligned([evidence_columns(row) for row in finding.evidence])]
    return lines


def _tail(report: RaceReport) -> list[str]:
    lines: list[str] = []
    effect = effect_parts(report)
    if effect:
        lines.append(f"  effect   {'; '.join(effect)}")
    token = report.token
    if token is not None:
        if token.choices is None:
            race = report.group.shown.race
            one = len(token.constraints) == 1
            orders = "ONE constraint" if one else f"{len(token.constraints)} constraints"
            what = f": #{race.second.operation.ordinal} before #{race.first.operation.ordinal}" if one else ""
            lines.append(f"  repro    issue order except {orders}{what}")
        else:
            lines.append(f"  repro    {counted(len(token.choices), 'recorded choice')}")
        lines.append(f"           {REPLAY_COMMAND} {token}        {TRACE_COMMAND} {token} > t.json   (Perfetto)")
    return lines + _also(report.group)


def _also(group: Group) -> list[str]:
    others = group.race_count - 1
    if not others:
        return []
    return [f"  also     {counted(others, 'race')} with this signature, layers {spans(group.layers)}"]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
