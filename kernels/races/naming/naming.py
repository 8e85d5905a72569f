"""Naming: from a race to a finding with a code, a reason and the wait to add.

Owns: which rule decides, and the mend. Does not own: the rules. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Race, Signature, pattern_of
from kernels.races.naming.codes import Code, Finding, Mend
from kernels.races.naming.rules import RULES, Named
from kernels.races.naming.situation import Situation, is_by_host


def name_race(detector: Detector, race: Race) -> Finding:
    """Say which order is missing, and what to add.

    A write over pages that are still being read is a page that was reused too early, whatever is wrong with its waits;
    the reason then tells that too.
    """
    at = Situation(detector, race)
    named = next(named for named in (rule(at) for rule in RULES) if named is not None)
    first, second = race.first.operation, race.second.operation
    own = at.own_record
    # A record that is issued after the access is none that the access could wait for.
    needs_record = named.needs_record or own is None or own.operation.ordinal > second.ordinal
    is_host_made = is_by_host(first)
    mend = Mend(
        stream=second.stream,
        place=race.second.place,
        event=(named.event or f"{first.stream}.done[{first.ordinal}]") if needs_record else at.event,
        before=second,
        thread=second.thread,
        record_after=first if needs_record or is_host_made else None,
        record_place=race.first.place,
        how="hand_over" if is_host_made else "host_wait" if is_by_host(second) else "stream_wait",
        teacher=named.teacher,
    )
    code, because = named.code, named.because
    if race.kind == "read-write":
        code = Code.REUSE_BEFORE_COMPLETION
        because = f"#{second.ordinal} overwrites what #{first.ordinal} may still read: {_how(named)}"
    return Finding(race, code, because, mend, named.evidence)


def _how(named: Named) -> str:
    return f"{named.code.replace('_', ' ').lower()}, {named.because}"


class RaceKind(NamedTuple):
    """What must stay while a workload is made smaller: the range and the two operations' kinds, and the missing edge:
    its name, and which events it is about."""

    signature: Signature
    code: Code
    event: str


def kind_of(finding: Finding) -> RaceKind:
    return RaceKind(finding.race.signature, finding.code, pattern_of(finding.mend.event))


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """All findings of one signature and code: one is shown, the others are counted."""

    shown: Finding
    others: tuple[Finding, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (self.shown, *self.others)

    @property
    def race_count(self) -> int:
        return sum(1 + finding.race.repeats for finding in (self.shown, *self.others))

    @property
    def layers(self) -> tuple[int, ...]:
        """The buffer's layers on which it was found, ascending."""
        return tuple(sorted({finding.race.layer for finding in (self.shown, *self.others)}))


def name_all(detector: Detector) -> list[Group]:
    """Every race named, and folded by signature and code."""
    folded: dict[tuple[Signature, Code], list[Finding]] = {}
    for race in detector.races:
        finding = name_race(detector, race)
        folded.setdefault((race.signature, finding.code), []).append(finding)
    return [_group(findings) for findings in folded.values()]


def _group(findings: Sequence[Finding]) -> Group:
    shown = min(findings, key=lambda finding: finding.race.first.operation.ordinal)
    return Group(shown, tuple(finding for finding in findings if finding is not shown))
