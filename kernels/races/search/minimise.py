"""Minimising a failure: from an order of steps to the fewest turned-round pairs that still show it.

Owns: which pairs a failing order turns round, and their reduction. Does not own: shrinking workloads (`harness.races`).
Floor 2b. Source: facts/concurrency.md section 4: failures as flipped conflicting pairs reduce to one constraint, where
delta debugging of step numbers stalls; ddmin: Zeller and Hildebrandt, TSE 2002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.script import Node
from kernels.races.scheduler.steps import StreamStep, touched_cells
from kernels.races.strategies.issue_order import Constraint, IssueOrder, OpRef
from kernels.races.strategies.replaying import Replaying

FailureKey = tuple[str, ...]
"""What must stay while a failure is minimised."""


class _OrderOfEnds:
    """An observer that notes when every operation began and ended."""

    def __init__(self) -> None:
        self.begun: dict[OpRef, int] = {}
        self.ended: dict[OpRef, int] = {}
        self.touched: dict[OpRef, tuple[int, int]] = {}
        self._time = 0

    def stream_step(self, run: Execution, step: StreamStep) -> None:
        self._time += 1
        for action in step.actions:
            ref = OpRef(action.op.stream, action.op.place)
            self.begun.setdefault(ref, self._time)
            self.ended[ref] = self._time
            self.touched[ref] = touched_cells(action.op)

    def host_step(self, run: Execution, thread: int, node: Node) -> None:
        """Host steps are not turned round."""


def turned_round(plan: Plan, choices: Sequence[int]) -> list[Constraint]:
    """Conflicting pairs that run in another order than in issue order: in full, or so that they overlap."""
    failing, plain = _OrderOfEnds(), _OrderOfEnds()
    Execution(plan, observer=failing).run(Replaying(choices))
    Execution(plan, observer=plain).run(IssueOrder(), asks_always=True)
    found: list[Constraint] = []
    refs = [ref for ref in plain.begun if ref in failing.begun]
    for first in refs:
        for second in refs:
            if first.stream == second.stream or plain.ended[first] >= plain.begun[second]:
                continue
            reads, writes = plain.touched[first]
            other_reads, other_writes = plain.touched[second]
            is_conflict = bool(writes & (other_reads | other_writes) or reads & other_writes)
            if is_conflict and failing.begun[second] < failing.ended[first]:
                found.append(Constraint(second, first))
    return found


def fewest(plan: Plan, constraints: Sequence[Constraint], still_fails: Callable[[Outcome], bool]) -> list[Constraint]:
    """A subset that still fails and from which nothing can be left out. Empty where all of them do not fail."""

    def fails(some: Sequence[Constraint]) -> bool:
        # As a token is run: where threads take turns, how often they were asked decides whose turn it is.
        return still_fails(Execution(plan).run(IssueOrder(some), asks_always=True))

    kept = list(constraints)
    if not fails(kept):
        return []
    # One is nearly always enough, so each is tried alone before any halving.
    for one in kept:
        if fails([one]):
            return [one]
    size = len(kept) // 2
    while size >= 1:
        index = 0
        while index < len(kept):
            without = kept[:index] + kept[index + size :]
            if without and fails(without):
                kept = without
            else:
                index += size
        size //= 2
    return kept
