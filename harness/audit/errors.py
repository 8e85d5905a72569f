"""What the audit cannot judge, in one sentence.

Owns: the error and its exit code. Does not own: findings, which are data. Floor 5. Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.errors import KVRaceError


class CannotJudgeError(KVRaceError):
    """Something that the verdict needs is not there. missing: its names, each with what could stand in for it."""

    exit_code = 4

    def __init__(self, source: str, missing: Sequence[str]) -> None:
        self.source = source
        self.missing = tuple(missing)
        super().__init__(f"could not judge {source}: {'; '.join(missing)}")
