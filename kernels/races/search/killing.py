"""Killing mutants: does the tool see that an order is gone, and if not, is it because it cannot matter?

Owns: the verdict on each mutant, and the table. Does not own: mutants (`mutation.py`), exploring. Floor 2b.

A mutant counts as killed only if a race is reported, or bytes are wrong, in an execution of the mutated program, and
never by luck of timing. One that survives is equivalent only where every order was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import Program
from kernels.races.search.explore import explore
from kernels.races.search.mutation import Mutant, mutants, mutated


class Fate(StrEnum):
    """KILLED: a race was named. FAILED: only wrong bytes or an assertion showed it. EQUIVALENT: no order of the
    mutated program is wrong, all were looked at. SURVIVED: nothing was found, but not all was looked at."""

    KILLED = "killed"
    FAILED = "failed"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One mutant's fate. codes: of the races that were named; mends: what the report would add; orders: looked at."""

    mutant: Mutant
    fate: Fate
    codes: tuple[Code, ...]
    mends: tuple[str, ...]
    is_confirmed: bool
    orders: int


def judge_mutants(program: Program, *, budget: int = 2_000, chosen: Sequence[Mutant] | None = None) -> list[Verdict]:
    """Explore every mutant of a program (or some of them)."""
    return [_judge(program, mutant, budget) for mutant in (mutants(program) if chosen is None else chosen)]


def _judge(program: Program, mutant: Mutant, budget: int) -> Verdict:
    result = explore(mutated(program, mutant), budget=budget, mend_schedules=0)
    fate = Fate.EQUIVALENT if result.exhausted else Fate.SURVIVED
    if result.races:
        fate = Fate.KILLED
    elif result.failures:
        fate = Fate.FAILED
    shown = [report.group.shown for report in result.races]
    return Verdict(
        mutant,
        fate,
        tuple(finding.code for finding in shown),
        tuple(str(finding.mend) for finding in shown),
        any(report.is_confirmed for report in result.races),
        result.stats.orders,
    )


def kill_table(verdicts: Sequence[Verdict]) -> str:
    """One line a mutant, and the totals."""
    width = max((len(str(verdict.mutant)) for verdict in verdicts), default=0)
    lines = [f"{verdict.mutant!s:<{width}}  {verdict.fate:<10}  {', '.join(verdict.codes)}" for verdict in verdicts]
    totals = [f"{sum(verdict.fate is fate for verdict in verdicts)} {fate}" for fate in Fate]
    return "\n".join([*lines, f"{len(verdicts)} mutants: {', '.join(totals)}"])
