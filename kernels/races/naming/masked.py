"""Masked races: accesses that are ordered only because another accessor waited just before, on the same stream.

Owns: finding them. They are no races; each is one edit (a removed or moved wait elsewhere) away from one. Does not own:
order (detector). Floor 2b. Source: the incident's history: SGLang's fused store fetched its buffer through the gated
getter, and so hid that the index-K read behind it had no wait of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter

from kernels.races.detector.clocks import Clock, Lane, Wait
from kernels.races.detector.detector import Detector
from kernels.races.detector.footprint import page_mask
from kernels.races.detector.race import pattern_of
from kernels.substrate.trace import MemoryTrace, Operation


@dataclass(slots=True, eq=False)
class MaskedAccess:
    """`access` follows `write` only through `wait`, which was taken for `paid_by`, the operation behind the wait.

    count: how many accesses of this kind (labels without their numbers) the trace has.
    """

    access: Operation
    write: Operation
    wait: Operation
    paid_by: Operation
    buffer: str
    count: int = 1

    def __str__(self) -> str:
        place = f" ({self.wait.site})" if self.wait.site else ""
        return (
            f"{self.access.label} (#{self.access.ordinal}) follows {self.write.label} (#{self.write.ordinal}) only: "
            f"masked by the wait in {self.paid_by.label}, {self.wait.event} at #{self.wait.ordinal}{place}"
        )


def masked_accesses(trace: MemoryTrace) -> list[MaskedAccess]:
    """All masked reads of a trace, one for each pair of labels."""
    return _Search(trace).found()


class _Search:
    """One pass: a detector reads along, and after each operation its clocks say what ordered it."""

    def __init__(self, trace: MemoryTrace) -> None:
        self._trace = trace
        self._detector = Detector()
        self._found: dict[tuple[str, str, str, str], MaskedAccess] = {}
        # Lane index -> its copies and kernels so far, each with its place.
        self._memory: dict[int, list[tuple[int, Operation]]] = {}

    def found(self) -> list[MaskedAccess]:
        detector = self._detector
        for buffer in self._trace.buffers:
            detector.buffer(buffer)
        for row in self._trace.rows:
            if not isinstance(row, Operation):
                detector.host(row)
                continue
            detector.operation(row)
            if row.kind not in ("record", "wait"):
                lane = detector.lane(row.stream)
                self._look(lane, row)
                self._memory.setdefault(lane.index, []).append((lane.count, row))
        return list(self._found.values())

    def _look(self, lane: Lane, access: Operation) -> None:
        by_host = self._detector.thread_knows(access)
        for is_write, region in access.accesses:
            if is_write or not len(region.pages):
                continue
            shadow = self._detector.memory.shadows[region.buffer.name]
            footprint = page_mask(region.pages)
            for cell in shadow.cells(region.layers):
                for other, entries in cell.writes.items():
                    if other == lane.index:
                        continue
                    for place, written, write, _ in reversed(entries):
                        if place <= by_host.get(other, 0):
                            break
                        if place <= lane.known.get(other, 0) and written & footprint:
                            self._judge(lane, access, shadow.name, other, place, write)
                            break

    def _judge(self, lane: Lane, access: Operation, buffer: str, other: int, place: int, write: Operation) -> None:
        """`access` follows `write`, and not through the host: through which wait?"""
        earlier = self._memory.get(lane.index, [])
        last_place = earlier[-1][0] if earlier else 0
        covering = _covering_waits(lane, other, place, write.ordinal)
        if not covering or covering[0].place > last_place:
            return
        wait = covering[-1]
        paid_by = earlier[bisect_right(earlier, wait.place, key=itemgetter(0))][1]
        key = (buffer, pattern_of(access.label), pattern_of(write.label), pattern_of(paid_by.label))
        known = self._found.get(key)
        if known is None:
            self._found[key] = MaskedAccess(access, write, wait.operation, paid_by, buffer)
        else:
            known.count += 1


def _covering_waits(lane: Lane, other: int, place: int, since: int) -> list[Wait]:
    """Waits that teach this, last first; a wait issued before `since`, the write's ordinal, cannot."""
    covering: list[Wait] = []
    for wait in reversed(lane.waits):
        if wait.operation.ordinal < since:
            break
        if _teaches(wait, other, place):
            covering.append(wait)
    return covering


def _teaches(wait: Wait, lane: int, place: int) -> bool:
    """True where who waits learns that the lane is over up to this place."""
    if wait.record is None:
        return False
    known: Clock = wait.record.known
    return (wait.record.lane.index == lane and wait.record.place >= place) or known.get(lane, 0) >= place
