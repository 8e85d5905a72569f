"""POS: a random priority for every pending step, drawn anew for those that conflict with the step that runs.

Floor 2b. Source: partial order sampling, Yuan, Yang and Gu, CAV 2018; the core rule only.
"""

from __future__ import annotations

from random import Random

from kernels.races.scheduler.execution import Execution


class Pos:
    def __init__(self, seed: int) -> None:
        self.name = "POS"
        self._random = Random(seed).random
        self._priorities: dict[int, float] = {}

    def begin(self, run: Execution) -> None:
        self._priorities = {}

    def choose(self, run: Execution) -> int:
        priorities, runnable = self._priorities, run.runnable
        for lane in runnable:
            if lane not in priorities:
                priorities[lane] = self._random()
        index = max(range(len(runnable)), key=lambda i: priorities[runnable[i]])
        chosen = runnable[index]
        step = run.peek(chosen)
        for lane in runnable:
            other = run.peek(lane)
            if lane == chosen or (step is not None and other is not None and step.conflicts(other)):
                priorities.pop(lane)
        return index
