"""One trial: how many schedules a search runs until the first that fails.

Owns: the counting, for each kind of search. Does not own: the searches (`kernels.races`), programs, statistics.

A schedule is one execution of the program. Where a search looks at a passing run first (the flip, and SURW on the range
that the detector named), that run counts too. The run that tells samplers how long the program is does not: it is the
same for all of them, and random walk and POS do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from kernels.races.scheduler.cells import halves, mask
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.exhaustive import Exhaustive
from kernels.races.search.explore import explore
from kernels.races.search.portfolio import Profile, samplers
from kernels.races.search.replay import settled
from kernels.races.search.result import RaceReport

BASELINE = "random walk"
SAMPLERS = {
    "SURW, racing range": "surw",
    "SURW, all shared": "surw",
    "PCT d=1": "pct1",
    "PCT d=2": "pct2",
    "PCT d=3": "pct3",
    "POS": "pos",
    BASELINE: "random",
}
_KNOWS_THE_RACE = "SURW, racing range"


@dataclass(frozen=True, slots=True)
class Trial:
    """schedules: up to the first failure, or the budget where there was none (`is_found` is False: censored)."""

    schedules: int
    is_found: bool


def flip_trial(program: Program, budget: int) -> Trial:
    """Detect in one passing run, then turn round each pair that it named. It has no chance in it."""
    stats = explore(program, budget=0, mend_schedules=0).stats
    return Trial(stats.first_failure, True) if stats.first_failure else Trial(budget, False)


def exhaustive_trial(program: Program, budget: int) -> Trial:
    """All orders, the one of issue first. It has no chance in it."""
    outcomes = islice(Exhaustive(Plan(program)).outcomes(), budget)
    return _first(outcome.has_failed for outcome in outcomes) or Trial(budget, False)


def race_trial(program: Program, budget: int) -> Trial:
    """What the `race` command does: the flip, then half the budget for all orders, then the samplers by turns."""
    stats = explore(program, budget=budget, mend_schedules=0).stats
    return Trial(stats.first_failure, True) if stats.first_failure else Trial(budget, False)


def sampling(program: Program, strategy: str) -> Callable[[int, int], Trial]:
    """A function of seed and budget that gives one trial. Each trial knows nothing of the others."""
    reports = explore(program, budget=0, mend_schedules=0).races if strategy == _KNOWS_THE_RACE else []

    def trial(seed: int, budget: int) -> Trial:
        plan = settled(Plan(program))
        racing = _cells(plan, reports)
        (sampler,) = samplers(SAMPLERS[strategy], seed, Profile(plan), racing or plan.shared)
        looked = 1 if racing else 0
        found = _first(Execution(plan).run(sampler).has_failed for _ in range(budget - looked))
        return Trial(found.schedules + looked, True) if found else Trial(budget, False)

    return trial


def _cells(plan: Plan, reports: list[RaceReport]) -> int:
    """Mask of the cells that races are about."""
    found = 0
    for report in reports:
        for finding in (report.group.shown, *report.group.others):
            race = finding.race
            pages = [page for begin, end in race.intervals for page in range(begin, end)]
            found |= mask(halves(plan.script.cells.of_pages(race.buffer, race.layer, pages)))
    return found


def _first(failures: Iterable[bool]) -> Trial | None:
    return next((Trial(count, True) for count, failed in enumerate(failures, start=1) if failed), None)
