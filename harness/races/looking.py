"""Looking for the races of a target: explore, price the waits, and say whether the path was exercised at all.

Owns: the record of one look and its exit code. Does not own: exploring (`kernels.races`), text (`sentences`). Floor 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from harness.races.price import wait_price_ns
from harness.races.rates import SCHEDULES_MAX, Sample, sample
from harness.races.served import Served
from harness.races.shrinking import Shrunk
from harness.races.token_files import write_long_tokens
from harness.races.workload import Target
from harness.simulation.assembly import cost_model
from kernels.races.scheduler.program import ProgramFailed
from kernels.races.search.explore import MEND_SCHEDULES, explore
from kernels.races.search.portfolio import AUTO
from kernels.races.search.result import Answer, Exploration, RaceReport

CLEAN, FOUND, NOT_JUDGED = 0, 1, 4


@dataclass(frozen=True, slots=True)
class Search:
    """How much is looked at."""

    strategy: str = AUTO
    budget: int = 10_000
    seed: int = 0
    mend_schedules: int = MEND_SCHEDULES
    tokens: Path = Path("results") / "runs" / "races"


@dataclass(slots=True, eq=False)
class Look:
    """What was found. prices_ns: of each race's wait, in the order of `result.races`; None where none can be told.

    files: of tokens that are too long to paste.

    served, shrunk: of a scenario that was served first.
    """

    target: Target
    result: Exploration
    prices_ns: list[int | None]
    files: dict[str, Path]
    served: Served | None = None
    shrunk: Shrunk | None = None
    predicted: list[RaceReport] = field(default_factory=list)
    """Races of the served run that the program does not have."""
    drawn: Sample | None = None
    """Random schedules of the program as it is; None where it has no race to be drawn."""

    @property
    def not_exercised(self) -> str:
        """Why a clean answer would say nothing; empty where it says something."""
        if not any(row.kind in ("copy", "kernel") for row in self.result.trace.operations):
            return "the program launches nothing, so there is no order to judge"
        scenario = self.target.scenario
        if scenario is None or not scenario.cache.hicache:
            return ""
        if self.served is not None and not self.served.is_exercised:
            return "the served run loaded nothing back, so no read could meet a load; give it more --sessions"
        if not any(row.kind == "copy" and row.stream.endswith(".load") for row in self.result.trace.operations):
            return "the program loaded nothing back, so no read could meet a load"
        return ""

    @property
    def exit_code(self) -> int:
        if self.result.answer is Answer.RACES or self.predicted:
            return FOUND
        is_unknown = self.served is not None and bool(self.served.detector.problems)
        if self.result.answer is Answer.BOUNDED or self.not_exercised or is_unknown:
            return NOT_JUDGED
        return CLEAN


def look(target: Target, search: Search, *, served: Served | None = None, shrunk: Shrunk | None = None) -> Look:
    """Explore a target. Raises: ProgramFailed where its file breaks, or it touches what it did not declare."""
    with target.blaming():
        result = explore(
            target.program,
            search.strategy,
            search.budget,
            search.seed,
            mend_schedules=search.mend_schedules,
            has_call_sites=True,
            workload=target.workload,
        )
        _refuse_undeclared(target, result)
        prices = [_price_ns(target, report, search.seed) for report in result.races]
        count = min(search.mend_schedules, SCHEDULES_MAX)
        drawn = sample(target.program, search.seed, count) if result.races and count else None
    tokens = [report.token for report in result.races] + [failure.token for failure in result.failures]
    shown = {report.group.shown.race.signature for report in result.races}
    seen = [RaceReport(group, served.detector) for group in served.groups] if served is not None else []
    predicted = [report for report in seen if report.group.shown.race.signature not in shown]
    return Look(target, result, prices, write_long_tokens(tokens, search.tokens), served, shrunk, predicted, drawn)


def _refuse_undeclared(target: Target, result: Exploration) -> None:
    """An access outside its buffer is a mistake in the program, not a race in it."""
    for failure in result.failures:
        if "undeclared access" in failure.outcome.error:
            raise ProgramFailed(target.source, failure.outcome.error)


def _price_ns(target: Target, report: RaceReport, seed: int) -> int | None:
    """None for a file's program: its durations and delay points are made up, so a price would be too."""
    if target.scenario is None or report.mend is None:
        return None
    return wait_price_ns(target.program, report.mend.edges, cost_model(target.scenario), seed=seed)
