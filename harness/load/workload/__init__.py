"""The workload: what every session will send, and the call that each reply must be, fixed by a seed.

Owns: the public names of this package. Does not own: sending (the generator), judging (results). Floor 5.
"""

from __future__ import annotations

from harness.config.schema import WorkloadSpec
from harness.load.workload.build import build_workload, longest_prompt, refuse_oversized
from harness.load.workload.calls import Call
from harness.load.workload.plan import AskKind, ForkPoint, Group, SessionPlan, TurnPlan, Workload

__all__ = [
    "AskKind",
    "Call",
    "ForkPoint",
    "Group",
    "SessionPlan",
    "TurnPlan",
    "Workload",
    "WorkloadSpec",
    "build_workload",
    "longest_prompt",
    "refuse_oversized",
]
