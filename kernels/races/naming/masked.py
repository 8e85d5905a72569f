"""Masked races: accesses that are ordered only because another accessor waited just before, on the same stream.

Owns: finding them. They are no races; each is one edit (a removed or moved wait elsewhere) away from one. Does not own:
order (detector). Floor 2b. Source: the incident's history: SGLang's fused store fetched its buffer through the gated
getter, and so hid that the index-K read behind it had no wait of its own.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from kernels.races.detector.clocks import Clock, Lane, Wait
from kernels.races.detector.detector import detect
from kernels.races.detector.footprint import page_mask
from kernels.races.detector.race import pattern_of
from kernels.substrate.contract import Region
from kernels.substrate.sites import frames_of
from kernels.substrate.trace import MemoryTrace, Operation


@dataclass(slots=True, eq=False)
class MaskedAccess:
    """`access` follows `write` only through `wait`, which was taken for `paid_by`, the operation behind the wait.

    wait_place: the wait's on its stream, from 1. accessor: where the access was asked for; empty where no call sites
    are known. count: how many accesses of this kind (labels without their numbers) the trace has.
    without: what the same program shows without that wait; empty where it was not tried (`search/unmasking.py`).
    """

    access: Operation
    write: Operation
    wait: Operation
    paid_by: Operation
    buffer: str
    wait_place: int
    accessor: str = ""
    count: int = 1
    without: str = ""

    def __str__(self) -> str:
        site = next(iter(frames_of(self.wait.site)), "")
        place = f" ({site})" if site else ""
        return (
            f"{self.access.label} (#{self.access.ordinal}) follows {self.write.label} (#{self.write.ordinal}) only: "
            f"masked by the wait in {self.paid_by.label}, {self.wait.event} at #{self.wait.ordinal}{place}"
        )

    @property
    def details(self) -> list[str]:
        """Which accessor it is, how far it is from a race, and the wait that would make it stand alone."""
        accessor = f"{self.accessor} takes" if self.accessor else f"{self.access.label} has"
        lines = [
            f"accessor  {accessor} no wait of its own: one edit away from a race, which is to remove or move that wait"
        ]
        if self.without:
            lines.append(f"tried     without that wait: {self.without}")
        lines.append(f"add       {self.access.stream}.wait({self.wait.event}) before #{self.access.ordinal}")
        return lines


def masked_accesses(trace: MemoryTrace) -> list[MaskedAccess]:
    """All masked reads of a trace, one for each pair of labels."""
    return _Search(trace).found()


class _Search:
    """One pass over the operations, after a detector has read the trace: its clocks say what ordered each."""

    def __init__(self, trace: MemoryTrace) -> None:
        self._trace = trace
        self._detector = detect(trace)
        self._lanes = {lane.name: lane for lane in self._detector.lanes}
        self._counts: dict[int, int] = {}
        self._found: dict[tuple[str, str, str, str], MaskedAccess] = {}
        # Lane index -> its copies and kernels so far, each with its place.
        self._memory: dict[int, list[tuple[int, Operation]]] = {}
        # Buffer and layer -> lane index -> the writes so far: place, pages, operation.
        self._writes: dict[tuple[str, int], dict[int, list[tuple[int, int, Operation]]]] = {}

    def found(self) -> list[MaskedAccess]:
        for operation in self._trace.operations:
            lane = self._lanes[operation.stream]
            place = self._counts[lane.index] = self._counts.get(lane.index, 0) + 1
            if operation.kind in ("record", "wait"):
                continue
            self._look(lane, place, operation)
            self._memory.setdefault(lane.index, []).append((place, operation))
            for is_write, region in operation.accesses:
                for layer in region.layers if is_write and len(region.pages) else ():
                    writes = self._writes.setdefault((region.buffer.name, layer), {})
                    writes.setdefault(lane.index, []).append((place, page_mask(region.pages), operation))
        return list(self._found.values())

    def _look(self, lane: Lane, place: int, access: Operation) -> None:
        by_host, known = self._detector.thread_knows(access), lane.known_at(place)
        for is_write, region in access.accesses:
            if is_write or not len(region.pages):
                continue
            footprint = page_mask(region.pages)
            newest: dict[int, tuple[int, Operation]] = {}
            for layer in region.layers:
                for other, writes in self._writes.get((region.buffer.name, layer), {}).items():
                    if other == lane.index:
                        continue
                    for written_at, written, write in reversed(writes):
                        if written_at <= max(by_host.get(other, 0), newest.get(other, (0, write))[0]):
                            break
                        if written_at <= known.get(other, 0) and written & footprint:
                            newest[other] = (written_at, write)
                            break
            for other, (written_at, write) in newest.items():
                self._judge(lane, place, access, region, other, written_at, write)

    def _judge(
        self, lane: Lane, place: int, access: Operation, region: Region, other: int, written_at: int, write: Operation
    ) -> None:
        """`access` follows `write`, and not through the host: through which wait?"""
        earlier = self._memory.get(lane.index, [])
        last_place = earlier[-1][0] if earlier else 0
        waits = lane.waits[: bisect_left(lane.waits, place, key=attrgetter("place"))]
        covering = _covering_waits(waits, other, written_at, write.ordinal)
        if not covering or covering[0].place > last_place:
            return
        wait = covering[-1]
        paid_by = earlier[bisect_right(earlier, wait.place, key=itemgetter(0))][1]
        if access.site and access.site == paid_by.site:
            # One line of code, in a loop behind its wait: nobody's wait but its own.
            return
        buffer = region.buffer.name
        key = (buffer, pattern_of(access.label), pattern_of(write.label), pattern_of(paid_by.label))
        known = self._found.get(key)
        if known is None:
            self._found[key] = MaskedAccess(
                access, write, wait.operation, paid_by, buffer, wait.place, _accessor(access, region)
            )
        else:
            known.count += 1


def _accessor(access: Operation, region: Region) -> str:
    """`read_index_k (kernels/hicache/access.py:67)`, from the call site of this region."""
    sites = dict(zip((id(one) for _, one in access.accesses), access.access_sites, strict=False))
    place, _, name = next(iter(frames_of(sites.get(id(region), ""))), "").partition(" in ")
    return f"{name} ({place})" if name else ""


def _covering_waits(waits: Sequence[Wait], other: int, place: int, since: int) -> list[Wait]:
    """Waits that teach this, last first; a wait issued before `since`, the write's ordinal, cannot."""
    covering: list[Wait] = []
    for wait in reversed(waits):
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
