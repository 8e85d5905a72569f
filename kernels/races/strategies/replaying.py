"""Replaying recorded choices: the exact order of one earlier execution. Floor 2b."""

from __future__ import annotations

from collections.abc import Sequence

from kernels.errors import KVRaceError
from kernels.races.scheduler.execution import Execution


class ReplayDivergence(KVRaceError):
    """The recorded choices do not fit: the program is not the one that they were made with, or is not deterministic."""

    exit_code = 3

    def __init__(self, step: int, expected: int, runnable: int) -> None:
        self.step = step
        self.expected = expected
        self.runnable = runnable
        super().__init__(
            f"choice {step} of the replay is lane {expected} of {runnable} runnable ones; "
            "the program must follow from its machine alone, without clocks, random numbers or kept state"
        )


class Replaying:
    """Gives the recorded choices, one by one."""

    def __init__(self, choices: Sequence[int]) -> None:
        self.name = "replay"
        self._choices = tuple(choices)
        self._at = 0

    def begin(self, run: Execution) -> None:
        self._at = 0

    def choose(self, run: Execution) -> int:
        expected = self._choices[self._at] if self._at < len(self._choices) else -1
        self._at += 1
        if not 0 <= expected < len(run.runnable):
            raise ReplayDivergence(self._at, expected, len(run.runnable))
        return expected
