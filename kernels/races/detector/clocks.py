"""Clocks: what every stream and host thread knows to be over.

Owns: sparse vector clocks, and when a host thread learnt what. Does not own: which rows of a trace teach whom
(`detector.py`). Floor 2b. Source: FastTrack (Flanagan and Freund, PLDI 2009): epochs instead of vectors wherever one
writer is enough; sparse clocks after facts/concurrency.md section 2.

A clock maps lane index -> how many operations of that lane are known to be over. Clocks are never changed in place, so
they are shared freely: who hears of something new makes a new one.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from kernels.substrate.trace import Operation

Clock = dict[int, int]

NOTHING: Clock = {}
"""The clock of whoever was never told anything. Never changed, like every clock."""


class Record(NamedTuple):
    """One record of an event: the lane and place it was recorded at, and what that lane knew."""

    lane: Lane
    place: int
    known: Clock
    operation: Operation


class Wait(NamedTuple):
    """One wait, its place in its lane, and the record it is bound to (None: it waits for nothing)."""

    place: int
    operation: Operation
    record: Record | None


class Lane:
    """One FIFO of operations: a stream, or the memory accesses of one host thread."""

    __slots__ = ("count", "heard", "index", "known", "name", "records", "waits")

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.count = 0
        self.known: Clock = NOTHING
        # The thread clock that was joined last: most streams are fed by one thread, which rarely learns.
        self.heard: Clock = NOTHING
        self.records: list[Record] = []
        self.waits: list[Wait] = []

    def __repr__(self) -> str:
        return f"Lane({self.name}, count={self.count}, knows {len(self.known)} lanes)"


class ThreadClock:
    """What one host thread knew, and since when: rows come late, and an operation is judged by when it was issued.

    "When" is a place in host issue order: how many operations had been issued by all threads.
    """

    __slots__ = ("_issued", "_knowns", "known", "name", "since")

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: Clock = NOTHING
        self.since = -1
        self._issued: list[int] = [-1]
        self._knowns: list[Clock] = [NOTHING]

    def learn(self, issued: int, known: Clock) -> None:
        """Operations of the thread behind this place in issue order follow all of this."""
        self.known, self.since = known, issued
        self._issued.append(issued)
        self._knowns.append(known)

    def known_at(self, ordinal: int) -> Clock:
        """What the thread knew when it issued this operation."""
        return self._knowns[bisect_left(self._issued, ordinal) - 1]

    def __repr__(self) -> str:
        return f"ThreadClock({self.name}, knows {len(self.known)} lanes, learnt {len(self._issued) - 1} times)"


def joined(mine: Clock, theirs: Clock) -> Clock:
    """The smallest clock that knows both. Gives `mine` itself where it knows all of `theirs`."""
    news = {lane: count for lane, count in theirs.items() if count > mine.get(lane, 0)}
    return {**mine, **news} if news else mine


def joined_record(mine: Clock, record: Record) -> Clock:
    """`mine` after hearing of a record's completion.

    Who knows a lane up to `count` heard it from someone who took over all that the lane knew then: nothing is new.
    """
    lane, count = record.lane.index, record.place
    if mine.get(lane, 0) >= count:
        return mine
    merged = dict(joined(mine, record.known))
    merged[lane] = count
    return merged
