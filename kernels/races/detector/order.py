"""Order: which row of a trace teaches whom what.

Owns: stream order, host issue order, events, host threads. Does not own: which rows these are (`turns.py`), clocks,
memory. Floor 2b. Source: FastTrack on the event algebra of DESIGN.md section 2. The edges:
    stream order     an operation follows all before it on its stream
    issue            an operation follows everything its issuing thread was ordered after when it issued it
    event            a wait follows the record it was bound to when it was issued; generation 0 gives no edge
    until, query     teach the calling thread only; a query only where the answer was yes
    spawn, wake      the new or woken thread takes over what the other one knew

Copies and kernels teach nobody. So they take their places in their lanes by array arithmetic, and Python walks over the
few rows where some clock may change: waits, host steps, and the first operation of a lane behind a step of its thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from kernels.races.detector.clocks import Clock, Lane, Record, ThreadClock, Wait, joined, joined_record
from kernels.races.detector.grouping import Groups, distinct
from kernels.races.detector.turns import COLLECT, HEAR, LEAVE, LISTEN, LOOK, START, Part, Records, all_turns
from kernels.substrate.columns import WAIT, Columns, Ints, Tables
from kernels.substrate.trace import HostStep


class HostLook(NamedTuple):
    """A host thread learnt that a record is over: by `until`, or by a query that said yes."""

    step: HostStep
    record: Record


@dataclass(frozen=True, slots=True, eq=False)
class Ordered:
    """The operations of some columns: which row each is, its lane and place there, and what it knew.

    row, lane, place, clock: [operations]; `clock` is a column of `known`, [lanes, clocks]: up to which place each lane
    is known to be over.
    """

    row: Ints
    lane: Ints
    place: Ints
    clock: Ints
    known: Ints


class Order:
    """All lanes and threads of one trace. `blame` is told row and reason where the trace cannot be judged."""

    def __init__(self, tables: Tables, blame: Callable[[int, str], None]) -> None:
        self._tables = tables
        self._blame = blame
        self._lanes: list[Lane] = []
        self._lane_of: dict[int, Lane] = {}
        self._threads: dict[int, ThreadClock] = {}
        self._wakes: dict[tuple[int, int], Clock] = {}
        self._records = Records(tables, blame)
        # Records, waits and looks that have not been made into objects: reports need them, judging does not.
        self._unnamed: list[tuple[Part, Part, Part]] = []
        self._record_objects: list[Record] = []
        self._looks: list[HostLook] = []

    def __repr__(self) -> str:
        return f"Order({len(self._lanes)} lanes, {len(self._threads)} threads, {self._records})"

    def follow(self, columns: Columns) -> Ordered:
        """Take the next rows of the trace."""
        row = np.flatnonzero(columns.kind <= WAIT)
        lane = self._lanes_of(columns.stream[row])
        groups = Groups(lane)
        place = groups.rank + 1 + np.array([one.count for one in self._lanes], np.int64)[lane]
        self._check_issue_order(columns, row, groups)
        marks = [len(one.changes) - 1 for one in self._lanes]
        for index, size in zip(groups.keys.tolist(), groups.sizes.tolist(), strict=True):
            self._lanes[index].count += size
        ordered = Ordered(row, lane, place, np.zeros(len(row), np.int64), np.zeros((0, 0), np.int64))
        parts = self._records.parts(columns, ordered)
        self._unnamed.append(parts)
        turns = all_turns(columns, ordered, groups, parts, self._records, self._lanes, self.thread, self._blame)
        self._walk(columns, turns)
        clocks = self._fill_clocks(ordered, groups, marks)
        return Ordered(row, lane, place, ordered.clock, _dense(clocks, len(self._lanes)))

    def _check_issue_order(self, columns: Columns, row: Ints, groups: Groups) -> None:
        """A stream is a FIFO: its operations were issued in the order in which it ran them."""
        for index, members in groups:
            lane = self._lanes[index]
            numbers = np.concatenate(([lane.newest], columns.number[row[members]]))
            lane.newest = int(numbers[-1])
            wrong = np.flatnonzero(np.diff(numbers) <= 0)
            if len(wrong):
                at, before = int(members[wrong[0]]), int(numbers[wrong[0]])
                what = f"operation {columns.number[row[at]]} stands behind operation {before} on {lane.name}"
                self._blame(columns.first_row + int(row[at]), f"{what}, where they come in the order of issue")

    def thread(self, text: int) -> ThreadClock:
        """A host thread by the number of its name. Effect: makes it if there is none."""
        thread = self._threads.get(text)
        if thread is None:
            thread = self._threads[text] = ThreadClock(self._tables.text(text))
        return thread

    def lane(self, text: int) -> Lane:
        """A lane by the number of its name. Effect: makes it if there is none."""
        lane = self._lane_of.get(text)
        if lane is None:
            lane = self._lane_of[text] = Lane(self._tables.text(text), len(self._lanes))
            self._lanes.append(lane)
        return lane

    def named_lanes(self) -> list[Lane]:
        """All lanes, their records and waits filled in."""
        self._name()
        return self._lanes

    def named_looks(self) -> list[HostLook]:
        """Every host step that learnt of a record."""
        self._name()
        return self._looks

    def unarmed_looks(self) -> list[HostStep]:
        """Every host step that was told yes because its event had no record."""
        return [source.step(index) for source, rows in self._records.unarmed for index in rows.tolist()]

    def _name(self) -> None:
        for records, waits, looks in self._unnamed:
            for index, lane, place, _ in records.rows():
                owner = self._lanes[lane]
                record = Record(owner, place, owner.known_at(place), records.source.operation(index))
                self._record_objects.append(record)
                owner.records.append(record)
            for index, lane, place, number in waits.rows():
                bound = self._record_objects[number] if number >= 0 else None
                self._lanes[lane].waits.append(Wait(place, waits.source.operation(index), bound))
            for index, _, _, number in looks.rows():
                if number >= 0:
                    self._looks.append(HostLook(looks.source.step(index), self._record_objects[number]))
        self._unnamed.clear()

    def _lanes_of(self, streams: Ints) -> Ints:
        """[operations] lane of each; new lanes are numbered in the order in which they appear."""
        found, which = distinct(streams)
        if any(text not in self._lane_of for text in found.tolist()):
            _, firsts = np.unique(which, return_index=True)
            for at in np.argsort(firsts).tolist():
                self.lane(int(found[at]))
        return np.array([self._lane_of[text].index for text in found.tolist()], np.int64)[which]

    def _walk(self, columns: Columns, turns: Ints) -> None:
        """Teach, turn by turn. What a turn's numbers mean is told in `turns.py`."""
        lanes, threads = self._lanes, self._threads
        for when, what, a, b, c, d in zip(*(column.tolist() for column in turns), strict=True):
            if what == HEAR:
                lane, knowns = lanes[a], threads[c].knowns
                if d >= len(knowns):
                    self._blame(
                        columns.first_row + (when >> 1), f"a step of {threads[c].name} that precedes it comes later"
                    )
                    d = len(knowns) - 1
                heard = knowns[d]
                if heard is not lane.heard:
                    lane.heard = heard
                    known = joined(lane.known, heard)
                    if known is not lane.known:
                        lane.learn(b, known)
            elif what == LISTEN:
                lane = lanes[a]
                known = joined_record(lane.known, lanes[c], d, lane.heard_from)
                if known is not lane.known:
                    lane.learn(b, known)
            elif what == LOOK:
                knowns = threads[a].knowns
                knowns.append(joined_record(knowns[-1], lanes[c], d) if c >= 0 else knowns[-1])
            elif what == LEAVE:
                self._wakes[b, c] = self.thread(a).known
            elif what == COLLECT:
                threads[a].knowns.append(self._woken(columns.first_row + (when >> 1), a, columns.wake[b:c].tolist()))
            elif what == START:
                threads[a].knowns.append(joined(threads[a].known, self.thread(b).known))
            else:
                threads[a].knowns.append({**threads[a].known, b: c})

    def _woken(self, row: int, text: int, numbers: list[int]) -> Clock:
        """What a thread knows that was woken by these wakes."""
        known = self._threads[text].known
        for number in numbers:
            told = self._wakes.pop((text, number), None)
            if told is None:
                self._blame(row, f"{self._tables.text(text)} was ended by wake {number}, which nobody made")
                break
            known = joined(known, told)
        return known

    def _fill_clocks(self, ordered: Ordered, groups: Groups, marks: list[int]) -> list[Clock]:
        """The clocks of these operations. Effect: `ordered.clock` says which of them each had."""
        clocks: list[Clock] = []
        for index, members in groups:
            lane, mark = self._lanes[index], marks[index]
            since = np.searchsorted(lane.changes[mark:], ordered.place[members], side="right") - 1
            ordered.clock[members] = since + len(clocks)
            clocks += lane.clocks[mark:]
        return clocks


def _dense(clocks: list[Clock], lane_count: int) -> Ints:
    """Sparse clocks as one array [lanes, clocks]."""
    sizes = [len(clock) for clock in clocks]
    lanes = np.fromiter(chain.from_iterable(clocks), np.int64, sum(sizes))
    known = np.zeros((lane_count, len(clocks)), np.int64)
    places = np.fromiter(chain.from_iterable(clock.values() for clock in clocks), np.int64, sum(sizes))
    known[lanes, np.repeat(np.arange(len(clocks)), sizes)] = places
    return known
