"""Turns: the rows of a trace at which some clock may change, found for many rows at a time.

Owns: which rows those are, which record a wait or a look is bound to. Does not own: what they teach (`order.py`).
Floor 2b. Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernels.races.detector.clocks import Lane, ThreadClock
from kernels.races.detector.grouping import Groups
from kernels.substrate.columns import (
    GENERATIONS,
    PARK,
    QUERY,
    RECORD,
    SPAWN,
    TOUCH,
    UNTIL,
    WAIT,
    WAKE,
    Columns,
    Ints,
    RowSource,
    Tables,
)

if TYPE_CHECKING:
    from kernels.races.detector.order import Ordered

_NONE = -1


# What may teach somebody, and the four numbers that say whom and what. Threads are texts by their number.
#   HEAR   a lane, at a place, hears what its thread knew: lane, place, thread, how many of its steps came before
#   LISTEN a lane, at a place, waited for a record: lane, place, the record's lane and place
#   LOOK   a thread saw a record: thread, -, the record's lane and place (lane -1: there is no such record)
#   START  a thread takes over what another one knows: thread, the other
#   LEAVE  a thread leaves what it knows for another one: thread, the other, number of the wake
#   COLLECT a thread takes that over: thread, where its wakes begin and end in the column `wake`
#   ACT    a thread touched memory itself: thread, its lane, the place there
HEAR, LISTEN, LOOK, START, LEAVE, COLLECT, ACT = range(7)


class Part(NamedTuple):
    """The records, the waits or the looks of some columns. lane: of a look, its thread. record: its number, or -1."""

    source: RowSource
    row: Ints
    lane: Ints
    place: Ints
    record: Ints

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        return zip(*(column.tolist() for column in self[1:]), strict=True)


class Records:
    """All records of a trace, numbered; [records] lane, place and row of each."""

    def __init__(self, tables: Tables, blame: Callable[[int, str], None]) -> None:
        self.lane = self.place = self.row = np.zeros(0, np.int64)
        self.unarmed: list[tuple[RowSource, Ints]] = []
        """Rows in which a thread was told yes because the event had no record: they teach nothing."""
        self._tables = tables
        self._blame = blame
        self._by_key: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"Records({len(self.row)})"

    def parts(self, columns: Columns, ordered: Ordered) -> tuple[Part, Part, Part]:
        """The records, waits and looks of these columns. Effect: numbers the records."""
        kind = columns.kind
        at = np.flatnonzero(kind[ordered.row] == RECORD)
        numbers = np.arange(len(self.row), len(self.row) + len(at))
        records = Part(columns.rows, ordered.row[at], ordered.lane[at], ordered.place[at], numbers)
        self._add(columns, records)
        at = np.flatnonzero(kind[ordered.row] == WAIT)
        bound = self._bound(columns, ordered.row[at], columns.stream, "waited for")
        waits = Part(columns.rows, ordered.row[at], ordered.lane[at], ordered.place[at], bound)
        # A query that said no, or one of an event without a record, teaches nothing.
        looked = ((kind == UNTIL) | (kind == QUERY)) & columns.answer
        self.unarmed.append((columns.rows, np.flatnonzero(looked & (columns.generation == 0))))
        at = np.flatnonzero(looked & (columns.generation > 0))
        bound = self._bound(columns, at, columns.thread, "saw")
        return records, waits, Part(columns.rows, at, columns.thread[at], at, bound)

    def _add(self, columns: Columns, records: Part) -> None:
        keys, before = self._keys(columns, records.row), len(self._by_key)
        self._by_key.update(zip(keys, records.record.tolist(), strict=True))
        if len(self._by_key) != before + len(keys):
            for key, row, number in zip(keys, records.row.tolist(), records.record.tolist(), strict=True):
                if self._by_key[key] != number or keys.count(key) > 1:
                    what = f"record {key % GENERATIONS} of {self._tables.text(key // GENERATIONS)} was made twice"
                    self._blame(columns.first_row + row, f"{what}: two events with one name?")
        self.lane = np.concatenate((self.lane, records.lane))
        self.place = np.concatenate((self.place, records.place))
        self.row = np.concatenate((self.row, records.row + columns.first_row))

    def _bound(self, columns: Columns, rows: Ints, who: Ints, did: str) -> Ints:
        """The record that each of these rows is bound to, -1 where it is bound to none."""
        found = np.array([self._by_key.get(key, _NONE) for key in self._keys(columns, rows)], np.int64)
        generation = columns.generation[rows]
        made = np.append(self.row, 0)[found] < columns.first_row + rows
        missing = (generation != 0) & ((found == _NONE) | ~made)
        for at in np.flatnonzero(missing).tolist():
            event = self._tables.text(int(columns.event[rows[at]]))
            text = f"{self._tables.text(int(who[rows[at]]))} {did} record {generation[at]} of {event}"
            self._blame(columns.first_row + int(rows[at]), f"{text}, which has not been made")
        return np.where(missing | (generation == 0), _NONE, found)

    def _keys(self, columns: Columns, rows: Ints) -> list[int]:
        keys: list[int] = (columns.event[rows] * GENERATIONS + columns.generation[rows]).tolist()
        return keys


def all_turns(
    columns: Columns,
    ordered: Ordered,
    groups: Groups,
    parts: tuple[Part, Part, Part],
    records: Records,
    lanes: Sequence[Lane],
    thread: Callable[[int], ThreadClock],
    blame: Callable[[int, str], None],
) -> Ints:
    """[6, turns] in the order of rows: when (twice the row, and 1 for all but HEAR), which, four numbers.

    Effect: the steps of threads are numbered, and lanes remember whom they heard.
    """
    _, waits, looks = parts
    bound = waits.record >= 0
    record = waits.record[bound]
    waiting = _turns(
        LISTEN, waits.row[bound], waits.lane[bound], waits.place[bound], records.lane[record], records.place[record]
    )
    record = looks.record
    lane, place = np.append(records.lane, _NONE)[record], np.append(records.place, _NONE)[record]
    looking = _turns(LOOK, looks.row, looks.lane, looks.row, lane, place)
    steps = _step_turns(columns, ordered, looks, thread, blame)
    hearing = _hear_turns(columns, ordered, groups, lanes, thread)
    turns = np.concatenate((waiting, looking, *steps, hearing), axis=1)
    return turns[:, np.argsort(turns[0], kind="stable")]


def _step_turns(
    columns: Columns,
    ordered: Ordered,
    looks: Part,
    thread: Callable[[int], ThreadClock],
    blame: Callable[[int, str], None],
) -> list[Ints]:
    kind, by = columns.kind, columns.thread
    spawns, wakes = np.flatnonzero(kind == SPAWN), np.flatnonzero(kind == WAKE)
    parks = np.flatnonzero((kind == PARK) & (columns.wake_count > 0))
    touched = np.flatnonzero(kind[ordered.row] == TOUCH)
    touches = ordered.row[touched]
    at = np.concatenate((looks.row, spawns, parks, touches))
    learner = np.concatenate((by[looks.row], columns.other[spawns], by[parks], by[touches]))
    in_order = np.argsort(at, kind="stable")
    for text, members in Groups(learner[in_order]):
        clock, rows = thread(text), at[in_order][members]
        clock.issued = np.append(clock.issued, columns.number[rows])
        if np.any(np.diff(clock.issued) < 0):
            blame(
                columns.first_row + int(rows[0]), f"the steps of {clock.name} from here are not in the order of issue"
            )
    begin = np.cumsum(columns.wake_count) - columns.wake_count
    # A wake has exactly one number, its first; the readers see to that.
    number = columns.wake[begin[wakes]]
    return [
        _turns(START, spawns, columns.other[spawns], by[spawns]),
        _turns(LEAVE, wakes, by[wakes], columns.other[wakes], number),
        _turns(COLLECT, parks, by[parks], begin[parks], begin[parks] + columns.wake_count[parks]),
        _turns(ACT, touches, by[touches], ordered.lane[touched], ordered.place[touched]),
    ]


def _hear_turns(
    columns: Columns, ordered: Ordered, groups: Groups, lanes: Sequence[Lane], thread: Callable[[int], ThreadClock]
) -> Ints:
    """The operations issued by another thread, or behind other steps of it, than the one before them in the lane."""
    by, number = columns.thread[ordered.row], columns.number[ordered.row]
    version = np.zeros(len(by), np.int64)
    for text, members in Groups(by):
        version[members] = np.searchsorted(thread(text).issued, number[members], side="left")
    key = (by << 32) | version
    in_lanes = key[groups.order]
    is_new = np.ones(len(key), bool)
    is_new[1:] = in_lanes[1:] != in_lanes[:-1]
    present = [lanes[index] for index in groups.keys.tolist()]
    is_new[groups.heads] = in_lanes[groups.heads] != np.array([lane.heard_key for lane in present], np.int64)
    for lane, last in zip(present, in_lanes[groups.heads + groups.sizes - 1].tolist(), strict=True):
        lane.heard_key = last
    at = groups.order[is_new]
    at = at[version[at] > 0]
    hearing = _turns(HEAR, ordered.row[at], ordered.lane[at], ordered.place[at], by[at], version[at])
    hearing[0] -= 1
    return hearing


def _turns(what: int, rows: Ints, *numbers: Ints) -> Ints:
    turns = np.zeros((6, len(rows)), np.int64)
    turns[0], turns[1] = 2 * rows + 1, what
    for place, column in enumerate(numbers, start=2):
        turns[place] = column
    return turns
