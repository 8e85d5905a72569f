"""Exploring a program: detect, turn round, confirm, search, mend.

Owns: the order of work and the budget. Does not own: any of the parts. Floor 2b.
Source: facts/concurrency.md section 0: detect first, search second (RaceFuzzer, Sen, PLDI 2008).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Signature, pattern_of
from kernels.races.naming.codes import Code, Finding
from kernels.races.naming.masked import masked_accesses
from kernels.races.naming.naming import name_all, name_race
from kernels.races.scheduler.cells import halves, mask
from kernels.races.scheduler.execution import Execution, Strategy
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program, program_name
from kernels.races.search.determinism import check_repeats
from kernels.races.search.difference import difference
from kernels.races.search.exhaustive import Exhaustive
from kernels.races.search.mending import edge_of, with_edges
from kernels.races.search.minimise import FailureKey, fewest, turned_round
from kernels.races.search.portfolio import AUTO, EXHAUSTIVE, Profile, check_strategy, samplers
from kernels.races.search.replay import run_token, settled
from kernels.races.search.result import CONFIRMATIONS, Exploration, Failure, MendCheck, RaceReport, Stats
from kernels.races.search.tokens import Token
from kernels.races.search.unmasking import unmask
from kernels.races.strategies.issue_order import Constraint, IssueOrder, OpRef
from kernels.substrate.trace import MemoryTrace

MEND_SCHEDULES = 10_000


def explore(
    program: Program,
    strategy: str = AUTO,
    budget: int = 10_000,
    seed: int = 0,
    *,
    mend_schedules: int = MEND_SCHEDULES,
    has_call_sites: bool = False,
    workload: str = "",
) -> Exploration:
    """Look for races of a program, name them, show them, and check what would close them.

    Args:
        strategy: `auto`, `exhaustive`, or one sampler (`search/portfolio.py`). budget: schedules of the search; half of
        them, with `auto`, go to the exhaustive search first. mend_schedules: random schedules of each mended program.
        workload: what the tokens say about where the program comes from.
    Returns: an exploration; it says `clean` only if every order was looked at.
    """
    check_strategy(strategy)
    explorer = _Explorer(program, seed, has_call_sites, workload)
    explorer.detect()
    exhausted = explorer.search(strategy, budget)
    explorer.judge_branches()
    explorer.mend(mend_schedules)
    explorer.stats.live_runs = explorer.plan.script.live_runs
    masked = masked_accesses(explorer.trace)
    unmask(program, masked)
    return Exploration(
        program_name(program),
        explorer.plan.hash,
        list(explorer.reports.values()),
        masked,
        list(explorer.failures.values()),
        exhausted,
        explorer.stats,
        explorer.trace,
        budget,
    )


class _Branch(NamedTuple):
    """One order of a branch of the host's code. shared: the plan's, when its choices were made."""

    token: Token
    detector: Detector
    has_failed: bool
    shared: int


class _Explorer:
    def __init__(self, program: Program, seed: int, has_call_sites: bool, workload: str) -> None:
        self.program = program
        self.seed = seed
        self.plan = Plan(program, has_call_sites=has_call_sites)
        self.plain = Token(self.plan.hash, workload)
        self.stats = Stats()
        self.reports: dict[tuple[Signature, Code], RaceReport] = {}
        self.failures: dict[FailureKey, Failure] = {}
        self.branches: dict[tuple[bool, ...], _Branch] = {}
        self.trace = MemoryTrace()

    # Detect, then turn round.

    def detect(self) -> None:
        """Judge one execution in issue order, and show what it finds by turning each pair round."""
        plain = run_token(settled(self.plan), self.plain)
        self.trace = plain.trace
        check_repeats(self.program, plain.trace)
        self._count("issue order", plain.outcome)
        self._name(plain.detector)
        if plain.outcome.has_failed:
            self._keep(plain.outcome, "issue order")
        for report in self.reports.values():
            group = report.group
            for finding in (group.shown, *group.others):
                if self._show(report, replace(self.plain, constraints=(self._turned(finding),)), "directed"):
                    break

    def _name(self, detector: Detector) -> list[RaceReport]:
        """Name the races of one trace. Returns: those that were not known."""
        new: list[RaceReport] = []
        for group in name_all(detector):
            key = (group.shown.race.signature, group.shown.code)
            # One pair of operations has one report, whatever else its name is in another order.
            if all(known.group.shown.race.signature != key[0] for known in self.reports.values()):
                new.append(RaceReport(group, detector))
                self.reports[key] = new[-1]
        return new

    def _show(self, report: RaceReport, token: Token, strategy: str) -> bool:
        """Run a token; where it fails, run it ten times more. Returns: whether it failed."""
        shown = run_token(self.plan, token)
        self._count(strategy, shown.outcome)
        if not shown.outcome.has_failed:
            return False
        again = [run_token(self.plan, token).outcome for _ in range(CONFIRMATIONS)]
        report.confirmed = sum(other == shown.outcome for other in again)
        report.token, report.effect, report.trace = token, shown.outcome, shown.trace
        report.difference = difference(self.plan, token, shown)
        self._keep(shown.outcome, strategy, token)
        return True

    def _turned(self, finding: Finding) -> Constraint:
        first, second = finding.race.first, finding.race.second
        return Constraint(
            before=OpRef(self._stream(second.operation.stream), second.place),
            behind=OpRef(self._stream(first.operation.stream), first.place),
        )

    def _stream(self, name: str) -> int:
        return next(stream.index for stream in self.plan.script.machine.streams if stream.name == name)

    # Search.

    def search(self, strategy: str, budget: int) -> bool:
        """Spend the budget. Returns: True where every order was looked at."""
        left = budget
        if strategy in (AUTO, EXHAUSTIVE):
            search = Exhaustive(self.plan)
            share = budget if strategy == EXHAUSTIVE else (budget + 1) // 2
            for outcome in islice(search.outcomes(), share):
                self._count(search.name, outcome)
                if outcome.has_failed:
                    self._keep(outcome, search.name)
                self._note_branch(search.answers, outcome)
            self.stats.orders = search.order_count
            if search.is_over:
                return not search.was_cut
            left = budget - share
        strategies = samplers(strategy, self.seed, Profile(self.plan), self._racing_cells() or self.plan.shared)
        for index in range(left):
            sampler = strategies[index % len(strategies)]
            run = self._sampled(sampler)
            self._count(sampler.name, run.outcome)
            if run.outcome.has_failed:
                self._keep(run.outcome, sampler.name)
            self._note_branch(run.node.answers, run.outcome)
        return False

    def _note_branch(self, answers: tuple[bool, ...], outcome: Outcome) -> None:
        """Keep one order for each combination of answers that queries got, one that fails where there is one."""
        known = self.branches.get(answers)
        if known is None or (outcome.has_failed and not known.has_failed):
            token = replace(self.plain, choices=tuple(outcome.choices))
            detector = known.detector if known is not None else run_token(self.plan, token).detector
            self.branches[answers] = _Branch(token, detector, outcome.has_failed, self.plan.shared)

    def judge_branches(self) -> None:
        """Name what lacks only in some branch. What is ordered follows from what the queries were answered, so one
        order of each branch is enough, also where no bytes were wrong."""
        for branch in self.branches.values():
            for report in self._name(branch.detector):
                # Steps that became finer since then have other numbers.
                if branch.has_failed and branch.shared == self.plan.shared:
                    self._show(report, branch.token, "branch")

    def _sampled(self, sampler: Strategy) -> Execution:
        while True:
            shared = self.plan.shared
            run = Execution(self.plan)
            run.run(sampler)
            # Where a branch that was new made steps finer under way, the choices cannot be replayed: once more.
            if self.plan.shared == shared:
                return run

    def _racing_cells(self) -> int:
        """Mask of the cells that the named races are about: what a selective strategy should look at."""
        cells = 0
        for report in self.reports.values():
            for finding in (report.group.shown, *report.group.others):
                race = finding.race
                pages = [page for begin, end in race.intervals for page in range(begin, end)]
                cells |= mask(halves(self.plan.script.cells.of_pages(race.buffer, race.layer, pages)))
        return cells

    def _count(self, strategy: str, outcome: Outcome) -> None:
        self.stats.schedules += 1
        self.stats.by_strategy[strategy] = self.stats.by_strategy.get(strategy, 0) + 1
        if outcome.has_failed and not self.stats.first_failure:
            self.stats.first_failure = self.stats.schedules

    def _keep(self, outcome: Outcome, strategy: str, token: Token | None = None) -> None:
        """Remember a way to fail, minimised, the first time it is seen; an order that lacks only there is named."""
        key = self.key_of(outcome)
        known = self.failures.get(key)
        if known is not None:
            known.count += 1
            return
        at = self.stats.schedules
        chosen = token if token is not None else self._minimised(outcome, key)
        self.failures[key] = Failure(key, chosen, outcome, strategy, at)
        if token is None:
            for report in self._name(run_token(self.plan, chosen).detector):
                self._show(report, chosen, strategy)

    def _minimised(self, outcome: Outcome, key: FailureKey) -> Token:
        constraints = turned_round(self.plan, outcome.choices)
        kept = fewest(self.plan, constraints, lambda other: other.has_failed and self.key_of(other) == key)
        if kept or self.key_of(Execution(self.plan).run(IssueOrder(), asks_always=True)) == key:
            return replace(self.plain, constraints=tuple(kept))
        return replace(self.plain, choices=tuple(outcome.choices))

    def key_of(self, outcome: Outcome) -> FailureKey:
        """The signature of a failure: its kinds, and which kinds of operation read stale bytes, without numbers."""
        labels = {self.plan.script.label_of(ordinal) for ordinal in outcome.stale}
        return (*outcome.kinds, *sorted({pattern_of(label) for label in labels}))

    # Mend.

    def mend(self, schedules: int) -> None:
        """Add what every report names to the program, and search the result."""
        for report in self.reports.values():
            report.mend = self._mended(report, schedules)

    def _mended(self, report: RaceReport, schedules: int) -> MendCheck:
        findings = [report.group.shown, *report.group.others]
        named = [name_race(report.detector, race) for finding in findings for race in finding.race.each()]
        edges = tuple(dict.fromkeys(edge_of(finding.mend) for finding in named))
        plan = Plan(with_edges(self.program, edges))
        plain = run_token(plan, Token(plan.hash))
        signature = report.group.shown.race.signature
        same = [group for group in name_all(plain.detector) if group.shown.race.signature == signature]
        failed: list[Outcome] = []
        turns = samplers(AUTO, self.seed, Profile(plan), plan.shared)
        for index in range(schedules):
            outcome = Execution(plan).run(turns[index % len(turns)])
            if outcome.has_failed:
                failed.append(outcome)
        search = Exhaustive(plan)
        failed += [found for found in islice(search.outcomes(), max(1, schedules // 10)) if found.has_failed]
        return MendCheck(
            edges,
            len(same),
            schedules,
            len(failed),
            search.order_count,
            search.is_over and not search.was_cut,
            bool(plain.outcome.stuck),
            _still_missing(plan, failed[0]) if failed else "",
        )


def _still_missing(plan: Plan, failed: Outcome) -> str:
    """What the detector says of one failing schedule of a mended program."""
    groups = name_all(run_token(plan, Token(plan.hash, choices=tuple(failed.choices))).detector)
    return f"{groups[0].shown.code}: {groups[0].shown.because}" if groups else ", ".join(failed.kinds)
