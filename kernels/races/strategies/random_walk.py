"""Random walk: every runnable lane is as likely. The baseline, and a sanity row. Floor 2b."""

from __future__ import annotations

from random import Random

from kernels.races.scheduler.execution import Execution


class RandomWalk:
    def __init__(self, seed: int) -> None:
        self.name = "random walk"
        self._random = Random(seed).random

    def begin(self, run: Execution) -> None:
        """Nothing to prepare."""

    def choose(self, run: Execution) -> int:
        return int(self._random() * len(run.runnable))
