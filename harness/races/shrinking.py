"""Shrinking a scenario's workload: the smallest shape whose passing run still shows a given kind of race.

Owns: the order in which shapes are tried. Does not own: shapes (`cache_program`), shrinking orders (`kernels.races`).
Floor 5. Source: facts/concurrency.md section 4: smallest first, fewer sessions before fewer layers before fewer pages
before fewer turns, and always the same kind (range, operations, missing edge), so that it does not slip to another bug.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product
from typing import NamedTuple

from harness.config import Scenario
from harness.races.cache_program import INDEXED, CacheProgram, Shape, small_layers
from kernels.hicache.geometry import LayerKind, preset
from kernels.races.naming.naming import RaceKind, kind_of, name_all
from kernels.races.scheduler.plan import Plan
from kernels.races.search.replay import run_token
from kernels.races.search.tokens import Token

SESSIONS_MAX = 3
PAGES_MAX = 2
TURNS_MAX = 3


class Shrunk(NamedTuple):
    """A shape that shows the race, and how many were tried until then."""

    shape: Shape
    tried: int

    def __str__(self) -> str:
        turns = f"{self.shape.turns} turn{'s' if self.shape.turns > 1 else ''} of the first session"
        return f"{self.shape}, {turns}; {self.tried} shape{'s' if self.tried > 1 else ''} tried"


def standard_shape(scenario: Scenario) -> Shape:
    """What is explored where there is no race to shrink to: every kind of layer, two of those that are indexed."""
    return Shape(2, small_layers(preset(scenario.cache.preset)))


def shrink(scenario: Scenario, wanted: Collection[RaceKind]) -> Shrunk | None:
    """The smallest shape that shows all these races; None where even the largest does not."""
    for tried, shape in enumerate(_shapes(scenario), start=1):
        plan = Plan(CacheProgram(scenario, shape))
        groups = name_all(run_token(plan, Token(plan.hash)).detector)
        if set(wanted) <= {kind_of(group.shown) for group in groups}:
            return Shrunk(shape, tried)
    return None


def _shapes(scenario: Scenario) -> Iterator[Shape]:
    every = small_layers(preset(scenario.cache.preset))
    sessions, pages, turns = (range(1, most + 1) for most in (SESSIONS_MAX, PAGES_MAX, TURNS_MAX))
    for counts in product(sessions, _layer_sets(every), pages, turns):
        yield Shape(*counts)


def _layer_sets(every: tuple[LayerKind, ...]) -> list[tuple[LayerKind, ...]]:
    """An indexed layer alone, with one other, and all of them: the forward needs one that is indexed."""
    indexed = next(kind for kind in every if kind in INDEXED)
    pairs = [(indexed, kind) if every.index(indexed) < every.index(kind) else (kind, indexed) for kind in every]
    return list(dict.fromkeys(((indexed,), *(pair for pair in pairs if pair[0] != pair[1]), every)))
