"""PCT: random priorities of lanes, changed at d - 1 random steps; d = 1 starves one lane as long as that is possible.

Floor 2b. Source: Burckhardt et al., ASPLOS 2010: finds a bug of depth d with probability 1 / (n k^(d-1)) at least. k is
the number of choices of a run over collapsed steps.
"""

from __future__ import annotations

from random import Random

from kernels.races.scheduler.execution import Execution


class Pct:
    def __init__(self, seed: int, depth: int, choice_count: int) -> None:
        assert depth >= 1, f"PCT with depth {depth}"
        self.name = f"PCT d={depth}"
        self._random = Random(seed)
        self._depth = depth
        self._choice_count = max(choice_count, 1)
        self._at = 0
        self._priorities: dict[int, float] = {}
        self._changes: dict[int, int] = {}

    def begin(self, run: Execution) -> None:
        self._priorities = {}
        self._at = 0
        at = [self._random.randrange(self._choice_count) for _ in range(self._depth - 1)]
        # The i-th change gives a priority below all that were drawn, lower the earlier it stands in the list.
        self._changes = {step: -1 - index for index, step in enumerate(at)}

    def choose(self, run: Execution) -> int:
        self._at += 1
        while True:
            index = max(range(len(run.runnable)), key=lambda i: self._priority(run.runnable[i]))
            change = self._changes.pop(self._at - 1, None)
            if change is None:
                return index
            self._priorities[run.runnable[index]] = float(change)

    def _priority(self, lane: int) -> float:
        priority = self._priorities.get(lane)
        if priority is None:
            priority = self._priorities[lane] = self._random.random()
        return priority
