"""Killing mutants: does the tool see that an order is gone, does it say which, and if not, can it matter at all?

Owns: the fates, and the verdict on each broken order of a program. Does not own: mutants (`mutation.py`), exploring.
Floor 2b. Source: mutation testing, with two proofs that are often left out: that the mutant ran, and that what was
reported is what was broken.

A mutant counts as killed only if a race is reported in an execution of the mutated program, never by luck of timing,
and if the report names the event that was broken. One that nothing is found in is equivalent only where every order
was looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from kernels.races.naming.codes import Finding
from kernels.races.scheduler.program import Program
from kernels.races.search.explore import explore
from kernels.races.search.mutation import Break, Mutant, mutated
from kernels.races.search.result import Exploration


class Fate(StrEnum):
    """KILLED: a race was reported that names what was broken. FAILED: an assertion names it, or bytes are wrong without
    a race. EQUIVALENT: no order of the mutated program is wrong, all were looked at. OTHER: something was found, but
    not what was broken. SURVIVED: nothing was found, but not all was looked at. NOT_RUN: the change was not reached."""

    KILLED = "killed"
    FAILED = "failed"
    EQUIVALENT = "equivalent"
    OTHER = "killed by another cause"
    SURVIVED = "survived"
    NOT_RUN = "not run"

    @property
    def is_settled(self) -> bool:
        return self in (Fate.KILLED, Fate.FAILED, Fate.EQUIVALENT)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One mutant's fate.

    named: the finding that names what was broken, or what else was found, in one sentence. codes: of all races that
    were reported. is_confirmed: one of them was shown by replay. orders: looked at.
    """

    what: str
    fate: Fate
    named: str
    codes: tuple[str, ...]
    is_confirmed: bool
    orders: int


def judge_mutant(program: Program, mutant: Mutant, budget: int) -> Verdict:
    """Explore one mutant of a program."""
    broken = mutated(program, mutant)
    result = look_twice(broken, budget, lambda finding: is_named(mutant, finding))
    # A mutant is made from an operation of the default run, so what it breaks is reached there.
    named = next((found for found in findings(result) if is_named(mutant, found)), None)
    fate = Fate.EQUIVALENT if result.exhausted else Fate.SURVIVED
    if named is not None:
        fate = Fate.KILLED
    elif result.races:
        fate = Fate.OTHER
    elif result.failures:
        fate = Fate.FAILED
    return Verdict(
        str(mutant),
        fate,
        sentence(named) if named is not None else others(result),
        codes(result),
        any(report.is_confirmed for report in result.races),
        result.stats.orders,
    )


def look_twice(program: Program, budget: int, is_wanted: Callable[[Finding], bool]) -> Exploration:
    """Explore as little as shows what is wanted: one order first, and all only where that does not."""
    result = explore(program, budget=1, mend_schedules=0)
    if any(is_wanted(finding) for finding in findings(result)):
        return result
    return explore(program, "exhaustive", budget, mend_schedules=0)


def is_named(mutant: Mutant, finding: Finding) -> bool:
    """Whether a report speaks of the event whose order was broken, and of an access on the side that was to wait."""
    if mutant.event not in events_of(finding):
        return False
    race = finding.race
    if mutant.how is Break.SKIP:
        return race.second.operation.thread == mutant.where
    return mutant.where in (race.first.operation.stream, race.second.operation.stream)


def events_of(finding: Finding) -> set[str]:
    """What a finding blames: the event to wait for; where that is to be recorded first, the events of its reason."""
    if finding.mend.record_after is None:
        return {finding.mend.event}
    return {finding.mend.event, *(step.event for step in finding.evidence)} - {""}


def findings(result: Exploration) -> list[Finding]:
    return [finding for report in result.races for finding in report.group.findings]


def codes(result: Exploration) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(report.group.shown.code) for report in result.races))


def sentence(finding: Finding) -> str:
    race = finding.race
    first, second = race.first.operation, race.second.operation
    return (
        f"{finding.code} {race.buffer}: {second.stream} {second.label} not after {first.stream} {first.label}; "
        f"{', '.join(sorted(events_of(finding)))}"
    )


def others(result: Exploration) -> str:
    """What was found instead of what was wanted; empty where nothing was."""
    if result.races:
        return sentence(result.races[0].group.shown)
    return next((failure.outcome.error or ", ".join(failure.key) for failure in result.failures), "")
