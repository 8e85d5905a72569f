"""Sessions for as long as a run lasts: one workload after another, each from a seed of its own.

Owns: numbering sessions and groups on from round to round. Does not own: the making of a workload
(`harness/load/workload`). Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from harness.config.schema import WorkloadSpec
from harness.load.workload import SessionPlan, Workload, build_workload
from harness.load.workload.planned import PlannedSession, PlannedWorkload


class RoundSource(Protocol):
    """Where sessions come from. Rounds are built in order."""

    @property
    def spec(self) -> WorkloadSpec: ...

    def build(self, number: int) -> PlannedWorkload: ...


class Rounds:
    """build(0) is the workload of the seed itself, as the main command sends it."""

    def __init__(self, spec: WorkloadSpec, seed: int, count_tokens: Callable[[str], int]) -> None:
        self.spec = spec
        self.seed = seed
        self._count_tokens = count_tokens

    def __repr__(self) -> str:
        return f"Rounds(seed={self.seed}, {self.spec.sessions} sessions each)"

    def build(self, number: int) -> Workload:
        """Effect: none; may run in a thread of its own."""
        workload = build_workload(self.spec, self.seed + number, self._count_tokens)
        if number == 0:
            return workload
        return _renumbered(workload, sessions=number * self.spec.sessions, groups=number * self.spec.groups)


def planned_tokens(plan: PlannedSession, max_tokens: int) -> int:
    """About what a session costs: every request's whole prompt, and every reply at its longest."""
    return sum(plan.prompt_tokens(turn) + max_tokens for turn in range(len(plan.turns)))


def _renumbered(workload: Workload, *, sessions: int, groups: int) -> Workload:
    return replace(
        workload,
        sessions=tuple(_moved(plan, sessions, groups) for plan in workload.sessions),
        groups=tuple(replace(group, group=group.group + groups) for group in workload.groups),
    )


def _moved(plan: SessionPlan, sessions: int, groups: int) -> SessionPlan:
    fork = plan.fork if plan.fork is None else replace(plan.fork, parent=plan.fork.parent + sessions)
    return replace(plan, session=plan.session + sessions, group=plan.group + groups, start_ns=0, fork=fork)
