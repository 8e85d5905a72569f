"""How many random orders of a program fail, as it is and with the wait: measured in this run, with intervals.

Owns: the sample and its sentence. Does not own: the orders (`kernels.races.search.portfolio`), intervals (`results`).
Floor 5. These are shares of the orders that the strategies draw. A machine in time draws others: its rate is another.
"""

from __future__ import annotations

from typing import NamedTuple

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.portfolio import AUTO, Profile, samplers
from kernels.races.search.replay import settled
from kernels.races.search.result import RaceReport
from results.stats.intervals import clopper_pearson

SCHEDULES_MAX = 1_000


class Sample(NamedTuple):
    """Random schedules of the program as it is, and how many of them failed."""

    failed: int
    schedules: int


def sample(program: Program, seed: int, schedules: int) -> Sample:
    """Draw orders as the check of a wait does: the same strategies, taking turns, from the same seed."""
    plan = settled(Plan(program))
    turns = samplers(AUTO, seed, Profile(plan), plan.shared)
    outcomes = (Execution(plan).run(turns[index % len(turns)]) for index in range(schedules))
    return Sample(sum(outcome.has_failed for outcome in outcomes), schedules)


def rates_sentence(drawn: Sample, report: RaceReport | None) -> str:
    """Both rates in one line. report: the race whose wait was checked; None where there are several, or none was."""
    text = f"random schedules that fail: {_rate(*drawn)}"
    if report is None or report.mend is None or not report.mend.schedules:
        return text
    return f"{text}; with the wait {_rate(report.mend.failures, report.mend.schedules)}"


def _rate(failed: int, schedules: int) -> str:
    interval = clopper_pearson(failed, schedules)
    share = f" = {100 * failed / schedules:.3g} %" if failed else ""
    return f"{failed:,} of {schedules:,}{share} (95 % interval {100 * interval.low:.3g}-{100 * interval.high:.3g} %)"
