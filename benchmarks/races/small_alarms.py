"""Small programs over many seeds: each draws an order, of the cache its workload too, and the detector reads the trace.

Owns: drawing and judging them. Does not own: the programs (`harness.races`), the order (`strategies`), tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.races.arms import RightArm
from harness.races.cache_program import CacheProgram, Shape
from harness.races.shrinking import PAGES_MAX, SESSIONS_MAX, TURNS_MAX, standard_shape
from kernels.hicache.geometry import LayerKind
from kernels.races.detector.detector import detect
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.scheduler.tracing import Tracer
from kernels.races.search.replay import settled
from kernels.races.strategies.random_walk import RandomWalk

_BOUNDS = ((2, SESSIONS_MAX), (1, PAGES_MAX), (2, TURNS_MAX))


@dataclass(frozen=True, slots=True)
class SmallRuns:
    """racing: seeds whose trace has an unordered pair. failing: that read wrong bytes or got stuck. loads: with one."""

    name: str
    seeds: int
    racing: tuple[int, ...]
    failing: tuple[int, ...]
    loads: int


def arm_runs(arm: RightArm, seeds: range) -> SmallRuns:
    """The cache of an arm; each seed draws how much it serves, too."""
    scenario = arm.load()
    layers = standard_shape(scenario).layers
    plans: dict[Shape, Plan] = {}

    def plan_of(seed: int) -> Plan:
        shape = _drawn(seed, layers)
        if shape not in plans:
            plans[shape] = settled(Plan(CacheProgram(scenario, shape)))
        return plans[shape]

    return _runs(arm.name, plan_of, seeds)


def program_runs(name: str, program: Program, seeds: range) -> SmallRuns:
    """One program."""
    plan = settled(Plan(program))
    return _runs(name, lambda _: plan, seeds)


def _runs(name: str, plan_of: Callable[[int], Plan], seeds: range) -> SmallRuns:
    racing: list[int] = []
    failing: list[int] = []
    loads = 0
    for seed in seeds:
        tracer = Tracer()
        outcome = Execution(plan_of(seed), observer=tracer).run(RandomWalk(seed))
        detector = detect(tracer.trace)
        assert not detector.problems, detector.problems
        if detector.races:
            racing.append(seed)
        if outcome.has_failed:
            failing.append(seed)
        loads += any(row.kind == "copy" and row.stream.endswith("load") for row in tracer.trace.operations)
    return SmallRuns(name, len(seeds), tuple(racing), tuple(failing), loads)


def _drawn(seed: int, layers: tuple[LayerKind, ...]) -> Shape:
    """Two sessions at least: with one, nothing is ever pushed out and loaded back."""
    random = np.random.default_rng(seed)
    sessions, pages, turns = (int(random.integers(low, high + 1)) for low, high in _BOUNDS)
    return Shape(sessions, layers, pages, turns)
