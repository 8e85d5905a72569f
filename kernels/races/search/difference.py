"""How a failing order differs from the nearest one that passes: which pairs are turned round, and what is read then.

Owns: finding that order, and the record of the difference. Does not own: tokens, running them, wording (report).
Floor 2b. Source: differential schedule projection (Symbiosis, PLDI 2015): only what differs is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.issue import IssuedOp
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.script import Node
from kernels.races.scheduler.steps import StreamStep
from kernels.races.search.replay import Replay, run_token, strategy_of
from kernels.races.search.tokens import Token
from kernels.races.strategies.issue_order import Constraint
from kernels.substrate.trace import MemoryTrace, Operation


class TurnedPair(NamedTuple):
    """Two operations with a common page, at least one of them writing it, in both orders."""

    first: Operation
    second: Operation
    first_passing: Operation
    second_passing: Operation


class StaleSight(NamedTuple):
    """What a read saw of one page: versions in its front and back half; 0 where nothing had been written."""

    operation: Operation
    buffer: str
    layer: int
    page: int
    promised: int
    front: int
    back: int


@dataclass(frozen=True, slots=True, eq=False)
class OrderDifference:
    """turned: by the failing order, in which `first` was issued first. sights: of the failing order, one a stale page.

    passing: of the nearest order that does not fail.
    """

    turned: tuple[TurnedPair, ...]
    sights: tuple[StaleSight, ...]
    passing: MemoryTrace


def difference(plan: Plan, token: Token, failing: Replay) -> OrderDifference | None:
    """Compare a failing order with the nearest one that passes; None where none is near.

    Nearest: the failing order without one of its constraints. A minimised failure passes without any of them.
    """
    runs = (run_token(plan, near) for near in _nearby(token))
    passing = next((run for run in runs if not run.outcome.has_failed), None)
    if passing is None:
        return None
    watch = _Sights(set(failing.outcome.stale))
    Execution(plan, observer=watch).run(strategy_of(token), asks_always=token.choices is None)
    rows = {row.ordinal: row for row in failing.trace.operations}
    sights = tuple(StaleSight(rows[ordinal], *sight) for ordinal, sight in watch.found if ordinal in rows)
    return OrderDifference(tuple(_turned(failing.trace, passing.trace)), sights, passing.trace)


def _nearby(token: Token) -> Iterator[Token]:
    constraints = token.constraints
    for index in range(len(constraints)):
        yield replace(token, constraints=constraints[:index] + constraints[index + 1 :])
    plain = replace(token, constraints=(), choices=None)
    yield plain
    # Where issue order itself fails, the promised order is had by force.
    if constraints:
        yield replace(plain, constraints=tuple(Constraint(one.behind, one.before) for one in constraints))


def _turned(failing: MemoryTrace, passing: MemoryTrace) -> Iterator[TurnedPair]:
    """Pairs with a common page that run in another order in the two, each once, in issue order."""
    other = {row.ordinal: row for row in passing.operations}
    touching: dict[tuple[str, int, int], list[tuple[Operation, bool]]] = {}
    for row in sorted(failing.operations, key=lambda row: row.ordinal):
        for is_write, region in row.accesses:
            for layer, page in product(region.layers, region.pages.tolist()):
                touching.setdefault((region.buffer.name, layer, page), []).append((row, is_write))
    seen: set[tuple[int, int]] = set()
    for rows in touching.values():
        for at, (second, writes) in enumerate(rows):
            for first, has_written in rows[:at]:
                key = (first.ordinal, second.ordinal)
                is_conflict = first.stream != second.stream and (writes or has_written)
                if not is_conflict or key in seen or not {first.ordinal, second.ordinal} <= other.keys():
                    continue
                seen.add(key)
                before = other[first.ordinal], other[second.ordinal]
                if _order(first, second) != _order(*before):
                    yield TurnedPair(first, second, *before)


def _order(one: Operation, two: Operation) -> int:
    """-1: one is over before two begins; 1: the other way round; 0: they overlap."""
    if one.end_ns < two.start_ns:
        return -1
    return 1 if two.end_ns < one.start_ns else 0


class _Sights:
    """An observer that notes what some operations read, page by page, where it is not what was promised."""

    def __init__(self, ordinals: set[int]) -> None:
        self.found: list[tuple[int, tuple[str, int, int, int, int, int]]] = []
        self._ordinals = ordinals
        self._known: set[tuple[int, str, int, int]] = set()

    def stream_step(self, run: Execution, step: StreamStep) -> None:
        for action in step.actions:
            op = action.op
            if op.ordinal not in self._ordinals or not action.read_mask:
                continue
            for buffer, layer, page, promised, front in _pages_read(op):
                if not action.read_mask >> front & 3:
                    continue
                # A step reads before it writes, and a shared page is written in a step of its own.
                seen = run.memory[front], run.memory[front + 1]
                key = (op.ordinal, buffer, layer, page)
                if seen != (promised, promised) and key not in self._known:
                    self._known.add(key)
                    values = (max(0, promised), max(0, seen[0]), max(0, seen[1]))
                    self.found.append((op.ordinal, (buffer, layer, page, *values)))

    def host_step(self, run: Execution, thread: int, node: Node) -> None:
        """Host steps read nothing."""


def _pages_read(op: IssuedOp) -> Iterator[tuple[str, int, int, int, int]]:
    """Buffer, layer, page, promised version and front cell of every page that an operation reads."""
    regions = [region for is_write, region in op.regions if not is_write]
    for region, fronts, wanted in zip(regions, op.reads, op.wanted, strict=True):
        places = product(region.layers, region.pages.tolist())
        for (layer, page), front, promised in zip(places, fronts, wanted, strict=True):
            yield region.buffer.name, layer, page, promised, front
