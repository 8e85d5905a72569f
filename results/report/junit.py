"""`render_junit`: the verdicts of a report as JUnit XML, for any CI that shows test results.

Owns: which claim is a test case. One suite an arm; in it, one case for corruption, one for each check that the path was
exercised, one for what could not be judged; and one suite for what could not be read. Could not judge is an `error`,
never a pass. Floor 3. Source: the JUnit schema as Jenkins and GitLab read it.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from results.report.parts import ArmPart, Report
from results.report.words import harmless, kind_words, percent, percent_interval, plural
from results.verdict import RunVerdict

# Characters that XML 1.0 cannot hold at all, not even as references; `harmless` spells out the control characters.
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
_SHOWN_TURNS = 5


def render_junit(report: Report) -> str:
    """The whole report as one `testsuites` element."""
    root = ElementTree.Element("testsuites", name=_text(report.title))
    for arm in report.arms:
        _arm(root, report, arm)
    if report.faults:
        suite = ElementTree.SubElement(root, "testsuite", name="stored runs")
        for number, fault in enumerate(report.faults, start=1):
            _error(_case(suite, "stored runs", f"fault {number}"), fault)
    _count(root)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False).join(
        ('<?xml version="1.0" encoding="UTF-8"?>\n', "\n")
    )


def _arm(root: ElementTree.Element, report: Report, arm: ArmPart) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=_text(arm.name))
    _verdict(_case(suite, arm.name, _claim(arm)), report, arm)
    for check in arm.proof.checks:
        case = _case(suite, arm.name, check.name)
        if check.passed is None:
            ElementTree.SubElement(case, "skipped", message=_text(f"not known: {check.words}"))
        elif not check.passed:
            _error(case, f"the path was not exercised: {check.words}")
    case = _case(suite, arm.name, "every turn could be judged")
    if arm.turns_unknown:
        kinds = ", ".join(f"{count} {kind_words(kind)}" for kind, count in arm.unknown_kinds.items())
        message = f"{plural(arm.turns_unknown, 'turn')} of {arm.turns_total:,} could not be judged: {kinds}"
        ElementTree.SubElement(case, "skipped", message=_text(message))


def _claim(arm: ArmPart) -> str:
    return "reproduces the corruption" if _must_corrupt(arm) else "no corruption"


def _must_corrupt(arm: ArmPart) -> bool:
    """Inside a matrix an arm is held to what its scenario expects; a run on its own must be clean."""
    return arm.expectation_held is not None and arm.expect == "corruption"


def _verdict(case: ElementTree.Element, report: Report, arm: ArmPart) -> None:
    rate = arm.sessions
    found = f"{rate.events:,} of {rate.units:,} sessions: {percent(rate.rate)}, 95 % "
    found += "-" if rate.rate is None else percent_interval(rate.low, rate.high)
    if arm.verdict not in (RunVerdict.CLEAN, RunVerdict.CORRUPT):
        _error(case, arm.verdict_reason)
    elif (arm.verdict is RunVerdict.CORRUPT) is not _must_corrupt(arm):
        message = f"{arm.verdict_reason}; {found}"
        failure = ElementTree.SubElement(case, "failure", type=str(arm.verdict), message=_text(message))
        failure.text = _text("\n".join(_turns(report, arm)))
    output = ElementTree.SubElement(case, "system-out")
    output.text = _text("\n".join(filter(None, (found, rate.open_words, *(command for _, command in report.repeat)))))


def _turns(report: Report, arm: ArmPart) -> list[str]:
    cards = [card for card in report.evidence if card.arm == arm.name]
    lines = []
    for card in cards[:_SHOWN_TURNS]:
        why = "; ".join(reason for _, _, reason in card.reasons)
        lines.append(f"seed {card.seed} session {card.session} turn {card.turn}: {kind_words(card.kind)}: {why}")
    return lines


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_text(f"kvrace.{group}"), name=_text(name), time="0")


def _error(case: ElementTree.Element, message: str) -> None:
    ElementTree.SubElement(case, "error", type="could not judge", message=_text(message))


def _count(root: ElementTree.Element) -> None:
    for suite in root:
        cases = list(suite)
        suite.set("tests", str(len(cases)))
        suite.set("time", "0")
        for plural_name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            suite.set(plural_name, str(sum(case.find(tag) is not None for case in cases)))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))


def _text(text: str) -> str:
    return _NOT_XML.sub(lambda match: f"\\u{ord(match[0]):04x}", harmless(text))
