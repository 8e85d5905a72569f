"""The trial of a fix by order: the small program and one served run, before and after it.

Owns: what is run, and the verdict that follows from it. Does not own: fixes (the catalogue), rates (`figures.py`).
Floor 5. Nothing here knows what the catalogue expects: a verdict comes from runs alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from harness.config import Scenario, load_scenario
from harness.races.price import end_ns
from harness.races.program_file import load_program
from harness.races.served import Served, serve_and_watch, small_scenario
from harness.races.shrinking import standard_shape
from harness.races.workload import Target, scenario_target
from harness.simulation.assembly import cost_model
from kernels.hicache.geometry import PoolKind, preset
from kernels.races.naming.naming import Group
from kernels.races.scheduler.program import Program
from kernels.races.search.explore import explore
from kernels.races.search.result import Exploration
from scenarios import fixes
from scenarios.fixes.catalogue import PROGRAMS, Fix

SIBLINGS: tuple[PoolKind, ...] = ("swa", "c4", "c128")
"""Pools whose readers could slip as the index-K reader did."""
_ROOT = Path(fixes.__file__).resolve().parents[2]


class Verdict(StrEnum):
    """NOTHING_TO_FIX: the scenario shows no race without the fix, so nothing could be shown of it. BOUNDED: nothing was
    found with it, but not every order was looked at, or no load was."""

    HOLDS = "holds"
    NOT_A_FIX = "not a fix"
    BOUNDED = "bounded"
    NOTHING_TO_FIX = "nothing to fix"

    @property
    def exit_code(self) -> int:
        return {"holds": 0, "not a fix": 1}.get(self, 4)


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The incident on one side of a fix. served, end_ns: None for a program of a file. end_ns: when the small program
    ends on the virtual machine, where nobody is late by chance."""

    result: Exploration
    scenario: Scenario | None = None
    served: Served | None = None
    end_ns: int | None = None

    @property
    def open_groups(self) -> list[Group]:
        """What is unordered: in the small program, or else in the served run."""
        shown = [report.group for report in self.result.races]
        return shown or list(self.served.groups if self.served is not None else ())

    @property
    def is_open(self) -> bool:
        return bool(self.open_groups or self.result.failures)

    @property
    def not_exercised(self) -> str:
        """Why a clean answer would say nothing; empty where it says something, as with the host tier off."""
        if self.scenario is None or not self.scenario.cache.hicache:
            return ""
        if self.served is not None and not self.served.is_exercised:
            return "the served run loaded nothing back"
        loads = any(row.kind == "copy" and row.stream.endswith(".load") for row in self.result.trace.operations)
        return "" if loads else "the small program loaded nothing back"


@dataclass(frozen=True, slots=True)
class Sibling:
    """A slip that is not the incident's, with the fix in place. what: the pool that is read before its layer's gate."""

    pool: PoolKind
    is_open: bool


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One fix, tried. siblings: only of a fix that holds."""

    fix: Fix
    before: Side
    after: Side
    siblings: tuple[Sibling, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if self.fix.programs is None and not self.before.is_open:
            return Verdict.NOTHING_TO_FIX
        if self.after.is_open:
            return Verdict.NOT_A_FIX
        if self.after.not_exercised or not self.after.result.exhausted:
            return Verdict.BOUNDED
        return Verdict.HOLDS

    @property
    def price_ns(self) -> int | None:
        """How much later the small program ends with the fix."""
        if self.before.end_ns is None or self.after.end_ns is None:
            return None
        return self.after.end_ns - self.before.end_ns


@dataclass(frozen=True, slots=True)
class Bench:
    """Where fixes are tried: a scenario with overrides, a seed, and a budget of schedules for each small program.

    watches: whether a served run is watched too.
    """

    source: str
    overrides: Mapping[str, str]
    seed: int
    budget: int
    watches: bool = True

    def before(self) -> Side:
        """The scenario as it is. Raises: ConfigError."""
        return self._side({})

    def trial(self, fix: Fix, before: Side | None) -> Trial:
        """Try one fix. before: what `before` gave; a fix with programs of its own needs none.

        Raises: ConfigError for settings that do not go with it.
        """
        if fix.programs is not None:
            without, with_it = (load_program(f"{_ROOT / PROGRAMS}:{name}") for name in fix.programs)
            return Trial(fix, Side(self._explored(without)), Side(self._explored(with_it)))
        assert before is not None, fix
        trial = Trial(fix, before, self._side(fix.changes))
        if trial.verdict is not Verdict.HOLDS:
            return trial
        kinds = preset(trial.after.scenario.cache.preset).pool_kinds if trial.after.scenario is not None else ()
        siblings = [Sibling(pool, self._is_open(fix, pool)) for pool in SIBLINGS if pool in kinds]
        return Trial(fix, before, trial.after, tuple(siblings))

    def _side(self, changes: Mapping[str, str]) -> Side:
        overrides = {**self.overrides, **changes}
        target = self._target(overrides)
        served = serve_and_watch(small_scenario(self.source, overrides), self.seed) if self.watches else None
        assert target.scenario is not None, target
        ends_ns = end_ns(target.program, cost_model(target.scenario), self.seed)
        return Side(self._explored(target.program, target.workload), target.scenario, served, ends_ns)

    def _is_open(self, fix: Fix, pool: PoolKind) -> bool:
        target = self._target({**self.overrides, **fix.changes, "cache.ungated": pool})
        return Side(self._explored(target.program, target.workload)).is_open

    def _target(self, overrides: Mapping[str, str]) -> Target:
        scenario = load_scenario(self.source, overrides)
        return scenario_target(scenario, self.source, standard_shape(scenario))

    def _explored(self, program: Program, workload: str = "") -> Exploration:
        """A race of the passing run that a turned-round order shows settles it; else all orders are looked at."""

        def within(budget: int) -> Exploration:
            return explore(
                program, budget=budget, seed=self.seed, mend_schedules=0, has_call_sites=True, workload=workload
            )

        first = within(2)
        return first if any(report.is_confirmed for report in first.races) else within(self.budget)
