"""SURW: uniform over the orders of interesting steps only, by their exact counts.

Owns: the sampling. Does not own: what is interesting: the range that the detector found racing, or a random shared one.
Floor 2b. Source: Zhao et al., ASPLOS 2025 (selective uniform random walk); the counts, which it must estimate, are
known here from one run.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from kernels.races.scheduler.execution import Execution


class Surw:
    """interesting: mask of cells. counts: lane -> how many steps touch them in a run."""

    def __init__(self, seed: int, interesting: int, counts: Mapping[int, int]) -> None:
        self.name = "SURW"
        self._random = Random(seed)
        self._interesting = interesting
        self._counts = dict(counts)
        self._left: dict[int, int] = {}
        self._next: int | None = None

    def begin(self, run: Execution) -> None:
        self._left = dict(self._counts)
        self._next = None

    def choose(self, run: Execution) -> int:
        runnable = run.runnable
        marked = [lane for lane in runnable if self._is_interesting(run, lane)]
        if self._next is None or (len(marked) == len(runnable) and self._next not in marked):
            # With all lanes at an interesting step, one that is blocked cannot be the next.
            self._draw(marked if len(marked) == len(runnable) else None)
        allowed = [i for i, lane in enumerate(runnable) if lane not in marked or lane == self._next]
        index = allowed[int(self._random.random() * len(allowed))] if allowed else 0
        lane = runnable[index]
        if lane in marked:
            self._left[lane] = max(0, self._left.get(lane, 0) - 1)
            self._next = None
        return index

    def _draw(self, among: list[int] | None) -> None:
        lanes = among if among is not None else [lane for lane, left in self._left.items() if left > 0]
        if lanes:
            weights = [max(1, self._left.get(lane, 0)) for lane in lanes]
            self._next = self._random.choices(lanes, weights)[0]

    def _is_interesting(self, run: Execution, lane: int) -> bool:
        step = run.peek(lane)
        return step is not None and bool((step.read_mask | step.write_mask) & self._interesting)
