"""Rounds of sessions with an easier task.

Owns: the wrapper. Does not own: rounds (`harness/live/rounds`), tasks (`planning`). Floor 5. Source: ours.
"""

from __future__ import annotations

from harness.config.schema import WorkloadSpec
from harness.live.rounds import RoundSource
from harness.live.tasks.planning import with_task
from harness.live.tasks.task import Task
from harness.load.workload import Workload
from harness.load.workload.planned import PlannedWorkload


class TaskRounds:
    """Sessions of files stay as they are: their tasks are the file's."""

    def __init__(self, rounds: RoundSource, task: Task) -> None:
        self._rounds = rounds
        self._task = task

    def __repr__(self) -> str:
        return f"TaskRounds({self._rounds!r}, {self._task})"

    @property
    def spec(self) -> WorkloadSpec:
        return self._rounds.spec

    def build(self, number: int) -> PlannedWorkload:
        """Effect: none; may run in a thread of its own."""
        workload = self._rounds.build(number)
        return with_task(workload, self._task) if isinstance(workload, Workload) else workload
