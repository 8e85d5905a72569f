"""Issue order: the schedule that a program's author has in mind, and the same with a few orders turned round.

Owns: the default choice, order constraints and how they are written. Does not own: which constraints (search).
Floor 2b. Source: facts/concurrency.md section 4: failures are kept as orders of operations, not as step numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.steps import StreamStep

_WRITTEN = re.compile(r"(\d+)\.(\d+)b(\d+)\.(\d+)")


class OpRef(NamedTuple):
    """An operation by its stream's number and its place on it, from 1."""

    stream: int
    place: int


class Constraint(NamedTuple):
    """`before` must have ended when `behind` begins. Written `2.14b0.7`, which every shell leaves alone."""

    before: OpRef
    behind: OpRef

    def __str__(self) -> str:
        return f"{self.before.stream}.{self.before.place}b{self.behind.stream}.{self.behind.place}"

    @classmethod
    def parse(cls, text: str) -> Constraint | None:
        match = _WRITTEN.fullmatch(text)
        if match is None:
            return None
        stream, place, other_stream, other_place = map(int, match.groups())
        return cls(OpRef(stream, place), OpRef(other_stream, other_place))


class IssueOrder:
    """Streams before host threads, and what was issued first before the rest; constraints hold operations back.

    Where constraints hold back everything that could run, they cannot be met: the first one is let go, and `was_met`
    is False.
    """

    def __init__(self, constraints: Sequence[Constraint] = ()) -> None:
        self.name = "issue order" if not constraints else "directed"
        self.constraints = tuple(constraints)
        self.was_met = True
        self._turns: dict[int, int] = {}

    def begin(self, run: Execution) -> None:
        self.was_met = True
        self._turns = {}

    def choose(self, run: Execution) -> int:
        best, best_key = -1, (3, 0)
        for index, lane in enumerate(run.runnable):
            step = run.peek(lane)
            if step is None:
                # Threads take turns: one that only sleeps and looks would starve the others for ever.
                key = (1, self._turns.get(lane, 0))
            else:
                key = (2 if self._is_held(run, lane, step) else 0, step.ordinal)
            if best < 0 or key < best_key:
                best, best_key = index, key
        if best_key[0] == 2:
            self.was_met = False
        lane = run.runnable[best]
        if lane < 0:
            self._turns[lane] = self._turns.get(lane, 0) + 1
        return best

    def _is_held(self, run: Execution, lane: int, step: StreamStep) -> bool:
        for before, behind in self.constraints:
            if behind.stream != lane or run.ended[lane] >= behind.place:
                continue
            touches = any(action.op.place == behind.place for action in step.actions)
            is_pending = before.stream >= len(run.ended) or run.ended[before.stream] < before.place
            if touches and is_pending:
                return True
        return False
