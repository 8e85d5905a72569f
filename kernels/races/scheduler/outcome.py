"""How one execution ended.

Owns: the record, and what counts as a failure. Floor 2b.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kernels.races.identity import ORDERED_YET_STALE


@dataclass(slots=True)
class Outcome:
    """How one execution ended.

    stale: operations (by ordinal) that read other bytes than host issue order promises, in order of execution.
    lost: pages whose final bytes are not the promised ones (front cells). stuck: what waits for ever. error: the
    program's own assertion. choices: index chosen at every step where there was a choice.
    """

    stale: list[int] = field(default_factory=list)
    lost: tuple[int, ...] = ()
    stuck: tuple[str, ...] = ()
    error: str = ""
    is_cut: bool = False
    choices: list[int] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        return bool(self.stale or self.lost or self.stuck or self.error)

    @property
    def has_other_content(self) -> bool:
        """Whether a reader found, in order, other bytes than it means (`identity.py`): wrong, and no race."""
        return self.error.startswith(ORDERED_YET_STALE)

    @property
    def kinds(self) -> tuple[str, ...]:
        """What failed, in words: `stale`, `lost`, `stuck`, `content`, `error`."""
        parts = (
            ("stale", self.stale),
            ("lost", self.lost),
            ("stuck", self.stuck),
            ("content" if self.has_other_content else "error", self.error),
        )
        return tuple(name for name, value in parts if value)
