"""Clocks: what every stream and host thread knows to be over.

Owns: sparse vector clocks, and when a lane or a host thread learnt what. Does not own: which rows of a trace teach whom
(`order.py`). Floor 2b. Source: FastTrack (Flanagan and Freund, PLDI 2009): epochs instead of vectors wherever one
writer is enough; sparse clocks after facts/concurrency.md section 2.

A clock maps lane index -> how many operations of that lane are known to be over. Clocks are never changed in place, so
they are shared freely: who hears of something new makes a new one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

from kernels.substrate.columns import Ints
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
    """One FIFO of operations: a stream, or the memory accesses of one host thread.

    known: what it knows at its last place. records, waits: filled when somebody asks the detector for its lanes.
    """

    __slots__ = (
        *("changes", "clocks", "count", "heard", "heard_from", "heard_key", "index"),
        *("known", "name", "newest", "records", "waits"),
    )

    def __init__(self, name: str, index: int) -> None:
        self.name = name
        self.index = index
        self.count = 0
        # The number, in host issue order, of its last operation.
        self.newest = 0
        self.known: Clock = NOTHING
        # The thread clock joined last, and whose it was: most streams are fed by one thread, which learns rarely.
        self.heard: Clock = NOTHING
        self.heard_key = 0
        # By lane, the clock of it that was joined last: a lane that records often learns rarely itself.
        self.heard_from: dict[int, Clock] = {}
        # From which place on it knew which clock.
        self.changes: list[int] = [0]
        self.clocks: list[Clock] = [NOTHING]
        self.records: list[Record] = []
        self.waits: list[Wait] = []

    def learn(self, place: int, known: Clock) -> None:
        """From this place on it knows all of this."""
        self.known = known
        self.changes.append(place)
        self.clocks.append(known)

    def known_at(self, place: int) -> Clock:
        """What it knew at one of its operations, with what that operation itself taught."""
        if place >= self.changes[-1]:
            return self.known
        return self.clocks[bisect_right(self.changes, place) - 1]

    def __repr__(self) -> str:
        return f"Lane({self.name}, count={self.count}, knows {len(self.known)} lanes)"


class ThreadClock:
    """What one host thread knew, and since when: rows come late, and an operation is judged by when it was issued.

    "When" is a place in host issue order: how many operations had been issued by all threads. `issued` has the steps
    that may teach; `knowns[n]` is what the thread knows after n of them.
    """

    __slots__ = ("issued", "knowns", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.issued: Ints = np.zeros(0, np.int64)
        self.knowns: list[Clock] = [NOTHING]

    @property
    def known(self) -> Clock:
        return self.knowns[-1]

    def known_at(self, ordinal: int) -> Clock:
        """What the thread knew when it issued this operation."""
        return self.knowns[bisect_left(self.issued, ordinal)]

    def __repr__(self) -> str:
        return f"ThreadClock({self.name}, knows {len(self.known)} lanes, looked or was told {len(self.issued)} times)"


def joined(mine: Clock, theirs: Clock) -> Clock:
    """The smallest clock that knows both. Gives `mine` itself where it knows all of `theirs`."""
    merged = mine
    for lane, count in theirs.items():
        if count > merged.get(lane, 0):
            if merged is mine:
                merged = mine.copy()
            merged[lane] = count
    return merged


def joined_record(mine: Clock, lane: Lane, place: int, heard_from: dict[int, Clock] | None = None) -> Clock:
    """`mine` after hearing that a record, at this place of this lane, is over.

    Who knows a lane up to a place heard it from someone who took over all that the lane knew then: nothing is new.
    heard_from: by lane, what `mine` took over before. Effect: remembers this.
    """
    index = lane.index
    if mine.get(index, 0) >= place:
        return mine
    theirs = lane.known_at(place)
    if heard_from is not None and heard_from.get(index) is theirs:
        return {**mine, index: place}
    if heard_from is not None:
        heard_from[index] = theirs
    return {**joined(mine, theirs), index: place}
