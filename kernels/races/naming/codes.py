"""Names for missing orders, and what to add for each.

Owns: the eight codes, the record of a finding, the wait that would close it. Does not own: the rules. Floor 2b.
Source: facts/concurrency.md section 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

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


How = Literal["stream_wait", "host_wait", "hand_over"]
"""Who has to wait. A stream; or a host thread, because it touches the memory itself; or, where no event could say that
the first access is over because a host thread makes it, a thread that has to hear of it from that one."""


@dataclass(frozen=True, slots=True, eq=False)
class Mend:
    """The order to add: `stream` waits for `event` before the operation `before`.

    record_after: the operation behind which the event has to be recorded first; None where its record is there
    already, in time. place, record_place: of the two operations on their streams, from 1. The host may wait instead, in
    `thread`, which issues (or makes) the second access: that is right too, and blocks it.
    teacher: a thread that knows the first access to be over: the one that makes it (`hand_over`), or one that waits for
    it already, for nobody's good; empty where there is none.
    """

    stream: str
    place: int
    event: str
    before: Operation
    thread: str
    record_after: Operation | None = None
    record_place: int = 0
    how: How = "stream_wait"
    teacher: str = ""

    def __str__(self) -> str:
        before = f"before #{self.before.ordinal} {self.before.label}"
        if self.how == "hand_over":
            return f"{self._hand_over} {before}"
        record = ""
        if self.record_after is not None:
            after = self.record_after
            record = f"{after.stream}.record({self.event}) after #{after.ordinal} {after.label}, and "
        if self.how == "host_wait":
            return f"{record}thread {self.thread} waits for {self.event} {before}"
        text = f"{record}{self.stream}.wait({self.event}) {before}"
        return f"{text}; or {self._hand_over} {before}" if self.teacher else text

    @property
    def _hand_over(self) -> str:
        """The order between two host threads, which no event of a stream gives."""
        behind = f"waits for {self.event}"
        if self.how == "hand_over" and self.record_after is not None:
            behind = f"makes #{self.record_after.ordinal} {self.record_after.label}"
        return f"thread {self.thread} joins thread {self.teacher}, or takes a queue entry put behind where it {behind},"


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
