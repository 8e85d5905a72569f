"""Names for missing orders, and what to add for each.

Owns: the eight codes, the record of a finding, the wait that would close it. Does not own: the rules. Floor 2b.
Source: facts/concurrency.md section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernels.races.detector.race import Race
from kernels.substrate.trace import HostStep, Operation


class Code(StrEnum):
    """Why nothing orders the two accesses."""

    MISSING_WAIT = "MISSING_WAIT"
    LATE_WAIT = "LATE_WAIT"
    WRONG_EVENT = "WRONG_EVENT"
    MISSING_RECORD = "MISSING_RECORD"
    EARLY_RECORD = "EARLY_RECORD"
    UNARMED_WAIT = "UNARMED_WAIT"
    WRONG_THREAD = "WRONG_THREAD"
    REUSE_BEFORE_COMPLETION = "REUSE_BEFORE_COMPLETION"


@dataclass(frozen=True, slots=True, eq=False)
class Mend:
    """The order to add: `stream` waits for `event` before the operation `before`.

    record_after: the operation behind which the event has to be recorded first; None where its record is there
    already, in time. place, record_place: of the two operations on their streams, from 1. The host may wait instead, in
    `thread`: that is right too, and blocks it.
    """

    stream: str
    place: int
    event: str
    before: Operation
    thread: str
    record_after: Operation | None = None
    record_place: int = 0

    def __str__(self) -> str:
        record = ""
        if self.record_after is not None:
            after = self.record_after
            record = f"{after.stream}.record({self.event}) after #{after.ordinal} {after.label}, and "
        return f"{record}{self.stream}.wait({self.event}) before #{self.before.ordinal} {self.before.label}"


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A race with a name.

    because: one sentence. evidence: the records, waits and host steps that the sentence speaks of.
    """

    race: Race
    code: Code
    because: str
    mend: Mend
    evidence: tuple[Operation | HostStep, ...] = ()

    def __repr__(self) -> str:
        return f"Finding({self.code}, {self.race.buffer}[{self.race.layer}], {self.mend})"
