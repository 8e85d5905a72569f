"""Judging a mutant of the cache's code: on every scene, until a report names what was broken.

Owns: which scenes are looked at and how far, and the verdict. Does not own: mutants, scenes, exploring, fates. Floor 5.

Killed: explorations report races that name every order which the mutant takes away. Failed: an assertion of the cache,
of its invariants or of the check of content says what the mutant declares. Equivalent: the changed lines ran, all
orders of every scene were looked at, the invariants after every step, and nothing is wrong. What is found and is not
what was declared is another cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from harness.config import Scenario
from harness.races.mutants.code_mutant import CodeMutant
from harness.races.mutants.edges import order
from harness.races.mutants.patching import changed
from harness.races.mutants.scenes import SCENES, Scene, SceneProgram
from kernels.races.naming.codes import Finding
from kernels.races.search.explore import explore
from kernels.races.search.killing import Fate, codes, others, sentence
from kernels.races.search.portfolio import AUTO, EXHAUSTIVE
from kernels.races.search.result import Exploration

FEW, BUDGET = 40, 2_000
"""Orders of one scene at most: where something is looked for, and where all are wanted."""


@dataclass(frozen=True, slots=True)
class CodeVerdict:
    """One mutant's fate.

    scenes: those in which the changed lines ran. named: the reports that name what was broken, or what else was found.
    codes: of all races that were reported. is_confirmed: every order's race was shown by replay. orders: looked at.
    """

    mutant: CodeMutant
    fate: Fate
    scenes: tuple[str, ...]
    named: tuple[str, ...]
    codes: tuple[str, ...]
    is_confirmed: bool
    orders: int


class Unclean(NamedTuple):
    """A scene that is not clean, or not exhausted, without any mutant: mutants of it would show nothing."""

    scene: Scene
    result: Exploration


def unclean_scene(scenario: Scenario) -> Unclean | None:
    for scene in SCENES:
        result = explore(SceneProgram(scenario, scene, checks=True), EXHAUSTIVE, BUDGET, mend_schedules=0)
        if result.races or result.failures or not result.exhausted:
            return Unclean(scene, result)
    return None


def judge(
    scenario: Scenario, mutant: CodeMutant, scenes: tuple[Scene, ...] = SCENES, *, budget: int = BUDGET
) -> CodeVerdict:
    """Put the change in, look, and take it out again. budget: orders of one scene at most."""
    with changed(f"kernels.hicache.{mutant.target}", mutant.changes) as ran:
        inquiry = _Inquiry(scenario, mutant, ran, budget)
        inquiry.run(scenes)
    return inquiry.verdict()


class _Pass(NamedTuple):
    """How all scenes are looked at once. Of few orders half are drawn at random, where the strategy says so: the first
    ones of the search differ in their ends only."""

    checks: bool
    budget: int
    strategy: str = EXHAUSTIVE


class _Naming(NamedTuple):
    """A report that names an order. is_confirmed: it was shown by replay, and is not only predicted."""

    finding: Finding
    is_confirmed: bool

    def __str__(self) -> str:
        return f"{sentence(self.finding)} ({'shown by replay' if self.is_confirmed else 'predicted'})"


@dataclass(slots=True, eq=False)
class _Inquiry:
    """What is known of one mutant so far."""

    scenario: Scenario
    mutant: CodeMutant
    ran: list[bool]
    budget: int
    named: dict[str, _Naming] = field(default_factory=dict)
    assertion: str = ""
    beside: str = ""
    codes: dict[str, None] = field(default_factory=dict)
    scenes: dict[str, None] = field(default_factory=dict)
    is_exhausted: bool = True
    orders: int = 0

    @property
    def is_settled(self) -> bool:
        """Every order that the mutant takes away is named, or what it declares is asserted."""
        orders = self.mutant.orders
        return bool(self.assertion) or (bool(orders) and set(orders) <= self.named.keys())

    def run(self, scenes: tuple[Scene, ...]) -> None:
        """What is declared is looked for where it shows soonest; then all orders, the invariants looked at."""
        quick, drawn, invariants = _Pass(False, 1), _Pass(False, FEW, AUTO), _Pass(True, 1)
        sooner = (quick, drawn) if self.mutant.orders else (invariants,) if self.mutant.assertion else ()
        for one in sooner:
            if self._look_at_all(scenes, one):
                return
        if not self.beside:
            # The invariants only look: where they find nothing, the program without them does the same.
            self.orders, self.is_exhausted = 0, True
            self._look_at_all(scenes, _Pass(True, self.budget))

    def _look_at_all(self, scenes: tuple[Scene, ...], one: _Pass) -> bool:
        """Returns: whether the mutant is settled, and the rest need not be looked at."""
        for scene in scenes:
            self._look(scene, one)
            if self.is_settled:
                return True
        return False

    def _look(self, scene: Scene, one: _Pass) -> None:
        self.ran[:] = [False] * len(self.ran)
        program = SceneProgram(self.scenario, scene, checks=one.checks)
        result = explore(program, one.strategy, one.budget, mend_schedules=0)
        if all(self.ran):
            self.scenes[scene.name] = None
            self._note(scene, result)
        self.orders += result.stats.orders
        self.is_exhausted &= result.exhausted

    def _note(self, scene: Scene, result: Exploration) -> None:
        for report in result.races:
            for name, finding in product(self.mutant.orders, report.group.findings):
                known = self.named.get(name)
                is_better = known is None or (report.is_confirmed and not known.is_confirmed)
                if is_better and order(name).is_named_by(finding, report.detector):
                    self.named[name] = _Naming(finding, report.is_confirmed)
        for failure in result.failures:
            error = failure.outcome.error
            if self.mutant.assertion and re.search(self.mutant.assertion, error):
                self.assertion = self.assertion or error
        self.codes.update(dict.fromkeys(codes(result)))
        found = others(result)
        if found and not self.beside:
            self.beside = f"in '{scene.name}': {found}"

    def verdict(self) -> CodeVerdict:
        return CodeVerdict(
            self.mutant,
            self._fate(),
            tuple(self.scenes),
            self._sentences(),
            tuple(self.codes),
            bool(self.named) and all(named.is_confirmed for named in self.named.values()),
            self.orders,
        )

    def _fate(self) -> Fate:
        if not self.scenes:
            return Fate.NOT_RUN
        if self.is_settled:
            return Fate.FAILED if self.assertion else Fate.KILLED
        if self.beside:
            return Fate.OTHER
        return Fate.EQUIVALENT if self.is_exhausted else Fate.SURVIVED

    def _sentences(self) -> tuple[str, ...]:
        if self.assertion:
            return (self.assertion,)
        named = tuple(f"order {name}: {known}" for name, known in self.named.items())
        return named if self.is_settled or not self.beside else (*named, self.beside)
