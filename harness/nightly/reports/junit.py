"""A night as JUnit XML: a suite of checks, a suite of comparisons with the baseline, a suite of arms.

Owns: which test cases there are. A regression is a failure, what could not be judged an error, what did not run is
skipped. Floor 5. Source: the JUnit schema as Jenkins and GitLab read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from harness.nightly.checks.matrix import odd_arms
from harness.nightly.record import BaselineComparison, CheckResult, NightRecord, Status
from results.report.words import harmless

_ELEMENTS = {Status.REGRESSION: "failure", Status.UNKNOWN: "error", Status.SKIPPED: "skipped"}


def render_junit(record: NightRecord) -> str:
    """The whole night as one `testsuites` element."""
    root = ElementTree.Element("testsuites", name=f"night {record.night}", time=f"{record.wall_s:.3f}")
    _suite(root, "checks", record, record.checks)
    if record.comparisons:
        _suite(root, "against the baseline", record, record.comparisons)
    if record.matrix is not None:
        _arms(root, record)
    for suite in root:
        for kind, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(kind, str(len(suite.findall(f"testcase/{tag}"))))
        suite.set("tests", str(len(suite.findall("testcase"))))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(
    root: ElementTree.Element, name: str, record: NightRecord, parts: Sequence[CheckResult | BaselineComparison]
) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=name, timestamp=record.started[:19])
    for part in parts:
        time_s = part.wall_s if isinstance(part, CheckResult) else 0.0
        case = _case(suite, name, part.name, time_s)
        tag = _ELEMENTS.get(part.status)
        if tag is not None:
            told = ElementTree.SubElement(case, tag, message=harmless(part.sentence))
            if isinstance(part, CheckResult) and tag != "skipped":
                told.text = harmless("\n".join((*part.details, part.command)))


def _arms(root: ElementTree.Element, record: NightRecord) -> None:
    assert record.matrix is not None
    suite = ElementTree.SubElement(root, "testsuite", name="arms", timestamp=record.started[:19])
    odd = odd_arms(record.matrix)
    for arm in record.matrix.arms:
        case = _case(suite, "arms", arm.scenario, sum(run.wall_s for run in record.matrix.runs_of(arm.scenario)))
        sentence = next((line for line in odd if f": {arm.scenario} " in line), None)
        if sentence is not None:
            ElementTree.SubElement(case, "failure", message=harmless(sentence))
        elif arm.expectation_held is not True:
            ElementTree.SubElement(case, "error", message=harmless(arm.verdict_reason))


def _case(suite: ElementTree.Element, suite_name: str, name: str, time_s: float) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"kvrace.nightly.{suite_name}", name=name,
                                  time=f"{time_s:.3f}")  # fmt: skip
