"""The arms whose order is right: the gated cache, the cache off, the fused store, and every fix that we call one.

Owns: their names, and what each changes; and the control, which is broken, so that a blind detector would show.
Does not own: scenarios, fixes (`scenarios`), running. Source: the issue on races, "gated, off, and every fixed twin".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.config import Scenario, load_scenario
from scenarios.fixes.catalogue import FIXES

INCIDENT = "hicache_bf16"
CONTROL = "control: the incident"
_SHIPPED = {
    "gated": "hicache_bf16_gated",
    "off, bf16": "off_bf16",
    "off, fp8": "off_fp8",
    "fused store": "hicache_bf16_fused",
}
_SAME_AS_SHIPPED = {"gate_index_k", "cache_off", "fused_store"}


@dataclass(frozen=True, slots=True)
class RightArm:
    """One scenario, with what a fix changes of it. is_right: False for the control."""

    name: str
    scenario: str
    changes: Mapping[str, str] = field(default_factory=dict)
    is_right: bool = True

    def load(self, sessions: int | None = None) -> Scenario:
        """Raises: ConfigError."""
        few = {} if sessions is None else {"workload.sessions": str(sessions)}
        return load_scenario(self.scenario, {**self.changes, **few})


def arms() -> tuple[RightArm, ...]:
    """The control comes last."""
    shipped = [RightArm(name, scenario) for name, scenario in _SHIPPED.items()]
    fixes = [
        RightArm(f"fix: {fix.name}", INCIDENT, fix.changes)
        for fix in FIXES
        if fix.is_fix and fix.changes and fix.name not in _SAME_AS_SHIPPED
    ]
    return (*shipped, *fixes, RightArm(CONTROL, INCIDENT, is_right=False))
