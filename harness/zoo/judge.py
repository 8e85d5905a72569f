"""Judging a specimen: what is found with a switch on, and that nothing is with it off.

Owns: the verdicts. Does not own: exploring and laws (`kernels.races`), what is expected (`scenarios.zoo`). Floor 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.zoo.clock import now_s
from kernels.races.laws.book import breaches
from kernels.races.laws.breach import Breach
from kernels.races.laws.history import history_of
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.scheduler.tracing import Tracer
from kernels.races.search.explore import explore
from kernels.races.search.portfolio import AUTO, EXHAUSTIVE, Profile, samplers
from kernels.races.search.replay import run_token, settled
from kernels.races.search.result import Exploration
from kernels.races.strategies.random_walk import RandomWalk
from scenarios.zoo.parts import ANOTHER_REPLY
from scenarios.zoo.specimen import FIXED, Expected, Specimen

LAWS_EVERY = 50
"""At every so many random schedules the laws look at one too: they cost more than the schedule does."""

BUDGET = 400
"""Schedules of each exploration: specimens are so small that most are exhausted long before."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found with one switch on. schedules: to the first one that fails; 1 where nothing fails and the first
    execution was enough, for the detector or the laws; 0 where none was found. breaches: the laws' sentences."""

    switch: str
    expected: Expected
    got: Expected
    schedules: int
    seconds: float
    breaches: tuple[str, ...] = ()

    @property
    def is_expected(self) -> bool:
        return self.got == self.expected


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was found with all switches off. seeds: random schedules that were run. is_proved: every order was looked
    at. why: the first thing that is not clean; empty where all is."""

    seeds: int
    is_proved: bool
    seconds: float
    why: str = ""

    @property
    def is_clean(self) -> bool:
        return not self.why


@dataclass(frozen=True, slots=True)
class Judged:
    """One specimen. found: the defect first, then the wrong fixes."""

    specimen: Specimen
    found: tuple[Found, ...]
    fixed: Fixed

    @property
    def is_expected(self) -> bool:
        return self.fixed.is_clean and all(one.is_expected for one in self.found)

    @property
    def seconds(self) -> float:
        return self.fixed.seconds + sum(one.seconds for one in self.found)


def judge(specimen: Specimen, strategy: str, seeds: int, seed: int) -> Judged:
    """Everything about one specimen. strategy: how the first bug is looked for. seeds: of the fixed program."""
    found = tuple(judge_switch(specimen, switch, what, strategy, seed) for switch, what in specimen.switches)
    return Judged(specimen, found, judge_fixed(specimen, seeds, seed))


def judge_switch(specimen: Specimen, switch: str, expected: Expected, strategy: str, seed: int) -> Found:
    """One switch on: the verdicts of an exploration, and the laws."""
    began_s = now_s()
    program = specimen.program(switch)
    is_whole = strategy in (AUTO, EXHAUSTIVE)
    result = explore(program, strategy if is_whole else AUTO, BUDGET, seed, mend_schedules=0)
    broken = _broken(program, result)
    schedules = result.stats.first_failure or int(bool(broken or result.races))
    if not is_whole and result.failures:
        schedules = first_failing(program, strategy, seed)
    got = verdicts(result, broken)
    return Found(switch, expected, got, schedules, now_s() - began_s, tuple(dict.fromkeys(map(str, broken))))


def verdicts(result: Exploration, broken: list[Breach]) -> Expected:
    """An exploration in the terms of what is expected."""
    return Expected(
        frozenset(report.group.shown.code for report in result.races),
        result.saw_stale_bytes,
        any(ANOTHER_REPLY in failure.outcome.error for failure in result.failures),
        frozenset(breach.law for breach in broken),
    )


def first_failing(program: Program, strategy: str, seed: int) -> int:
    """The number of the first schedule that fails, of those that one sampler draws; 0 where none of the budget does."""
    plan = settled(Plan(program))
    (sampler,) = samplers(strategy, seed, Profile(plan), plan.shared)
    outcomes = (Execution(plan).run(sampler) for _ in range(BUDGET))
    return next((number for number, outcome in enumerate(outcomes, start=1) if outcome.has_failed), 0)


def judge_fixed(specimen: Specimen, seeds: int, seed: int) -> Fixed:
    """All switches off: the exploration and the laws must find nothing, nor may so many random schedules fail."""
    began_s = now_s()
    program = specimen.program(FIXED)
    result = explore(program, budget=BUDGET, seed=seed, mend_schedules=0)
    reasons = [race.group.shown.because for race in result.races]
    reasons += [str(breach) for breach in _broken(program, result)]
    reasons += [" ".join((*failure.key, failure.outcome.error)) for failure in result.failures]
    reasons += _random_failures(program, range(seed, seed + seeds))
    return Fixed(seeds, result.exhausted, now_s() - began_s, reasons[0] if reasons else "")


def _random_failures(program: Program, seeds: Iterable[int]) -> Iterator[str]:
    """What goes wrong in random schedules, each with its seed."""
    plan = settled(Plan(program))
    for seed in seeds:
        tracer = Tracer() if seed % LAWS_EVERY == 0 else None
        outcome = Execution(plan, observer=tracer).run(RandomWalk(seed))
        broken = breaches(history_of(tracer.trace)) if tracer is not None else []
        if outcome.has_failed or broken:
            yield " ".join((f"random schedule {seed}:", *outcome.kinds, outcome.error, *map(str, broken)))


def _broken(program: Program, result: Exploration) -> list[Breach]:
    """The laws over the first execution, and over each way to fail: what a query was answered may matter."""
    plan = settled(Plan(program))
    traces = [result.trace, *(run_token(plan, failure.token).trace for failure in result.failures)]
    return [breach for trace in traces for breach in breaches(history_of(trace))]
