"""The situation of a race: what was recorded, waited for and looked at around its two accesses.

Owns: the questions that the rules ask of a trace. Does not own: the answers' names. Floor 2b.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernels.races.detector.clocks import Lane, Record, Wait
from kernels.races.detector.detector import Detector, HostLook
from kernels.races.detector.race import Race, pattern_of

_LAST_NUMBER = re.compile(r"(\d+)(?!.*\d)")


class Situation:
    """One race and its surroundings. A is the lane of the first access, B of the second."""

    def __init__(self, detector: Detector, race: Race) -> None:
        self.race = race
        self.a = detector.lane(race.first.operation.stream)
        self.b = detector.lane(race.second.operation.stream)
        self._detector = detector
        self.own_record = self._own_record()
        """The record that covers the first access, and that B should have waited for; None where there is none."""
        self.event = self._event()
        """The event that is meant to order the two; a name for a new one where there is none."""

    @property
    def layer(self) -> int:
        """The model's layer where the operations name it; the buffer's own otherwise."""
        for side in (self.race.second, self.race.first):
            if side.operation.layer is not None:
                return side.operation.layer
        return self.race.layer

    def covering(self) -> Iterator[Record]:
        """Records on A behind the first access, oldest first: each would do."""
        return (record for record in self.a.records if record.place > self.race.first.place)

    def early_record(self) -> Record | None:
        """The last record on A before the first access, where it is the one that was meant to cover it."""
        before = [record for record in self.a.records if record.place < self.race.first.place]
        if not before or not any(wait.record is before[-1] for wait in self.waits_before()):
            return None
        # Both neighbours could be meant. A number that names the layer decides: `layer_done[7]` belongs to layer 7.
        early, own = before[-1], self.own_record
        number = _last_number(early.operation.event)
        if own is None:
            return early if number is None or number == self.layer else None
        return early if number == self.layer != _last_number(own.operation.event) else None

    def waits_before(self) -> list[Wait]:
        """B's waits before the second access, last first."""
        return [wait for wait in reversed(self.b.waits) if wait.place < self.race.second.place]

    def waits_behind(self) -> Iterator[Wait]:
        return (wait for wait in self.b.waits if wait.place > self.race.second.place)

    def adjacent_waits(self) -> list[Wait]:
        """B's waits with nothing but waits and records between them and the second access."""
        orders = {wait.place for wait in self.b.waits} | {record.place for record in self.b.records}
        place = self.race.second.place - 1
        while place in orders:
            place -= 1
        return [wait for wait in self.waits_before() if wait.place > place]

    def late_wait(self) -> Wait | None:
        """B's first wait behind the second access that is bound to A at or behind the covering record."""
        own = self.own_record
        if own is None:
            return None
        return next((wait for wait in self.waits_behind() if self.covers(wait)), None)

    def covers(self, wait: Wait) -> bool:
        """True where a wait is bound to a record that covers the first access."""
        record = wait.record
        return record is not None and record.lane is self.a and record.place > self.race.first.place

    def host_looks(self) -> list[HostLook]:
        """Times at which some host thread learnt that the first access is over, before the second was issued."""
        ordinal = self.race.second.operation.ordinal
        return [
            look
            for look in self._detector.looks
            if look.record.lane is self.a and look.record.place > self.race.first.place and look.step.issued < ordinal
        ]

    def foreign_waits(self) -> list[tuple[Lane, Wait]]:
        """Waits for the covering record on streams that have no business with the buffer."""
        shadow = self._detector.memory.shadows[self.race.buffer]
        cells = [*shadow.by_layer, *([shadow.wide] if shadow.wide else [])]
        users = {lane for cell in cells for entries in (cell.reads, cell.writes) for lane in entries}
        return [
            (lane, wait)
            for lane in self._detector.lanes
            if lane not in (self.a, self.b) and lane.index not in users
            for wait in lane.waits
            if self.covers(wait)
        ]

    def records_of(self, event: str) -> list[Record]:
        """All records of an event, on whatever stream."""
        return [record for lane in self._detector.lanes for record in lane.records if record.operation.event == event]

    def _own_record(self) -> Record | None:
        covering = list(self.covering())
        if not covering:
            return None
        # An event that B never waits for anywhere (a statistics mark, say) is not the one that is meant, if the next
        # record belongs to one that it does wait for.
        waited = {pattern_of(wait.operation.event) for wait in self.b.waits}
        known = [record for record in covering if pattern_of(record.operation.event) in waited]
        return known[0] if known else covering[0]

    def _event(self) -> str:
        if self.own_record is not None:
            return self.own_record.operation.event
        unarmed = [wait for wait in self.waits_before() if wait.record is None]
        if unarmed:
            return unarmed[0].operation.event
        return f"{self.a.name}.done[{self.layer}]"


def _last_number(name: str) -> int | None:
    match = _LAST_NUMBER.search(name)
    return int(match[1]) if match else None
