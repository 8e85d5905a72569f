"""The situation of a race: what was recorded, waited for and looked at around its two accesses.

Owns: the questions that the rules ask of a trace. Does not own: the answers' names. Floor 2b.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kernels.races.detector.clocks import Lane, Record, Wait
from kernels.races.detector.detector import Detector
from kernels.races.detector.order import HostLook
from kernels.races.detector.race import Race, pattern_of
from kernels.races.detector.reading import host_lane
from kernels.substrate.trace import HostStep, Operation

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
        if number != self.layer:
            return None
        if _last_number(own.operation.event) != self.layer:
            return early
        # Two events of this layer, one in front of the copy and one behind: B says which it relies on.
        is_relied_on = any(wait.record is early for wait in self.adjacent_waits())
        return early if is_relied_on and pattern_of(own.operation.event) != pattern_of(early.operation.event) else None

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

    def dropped_record(self) -> Wait | None:
        """B's wait directly before the access, where A did not record its event behind the first access, though it
        records others of that kind: the record that was meant is gone."""
        own, ordinal = self.own_record, self.race.second.operation.ordinal
        for wait in self.adjacent_waits():
            event = wait.operation.event
            in_time = [record for record in self.covering() if record.operation.ordinal < ordinal]
            if any(record.operation.event == event for record in in_time):
                continue
            if wait.record is None and (own is None or self._is_of_another_kind(event, own)):
                return wait
            kinds = {pattern_of(record.operation.event) for record in self.a.records}
            # A wait for another layer's event is a wrong wait, not a wait whose record is gone: its number tells.
            if pattern_of(event) in kinds and _last_number(event) == self.layer != self._own_number():
                return wait
        return None

    def _is_of_another_kind(self, event: str, own: Record) -> bool:
        """An event that nobody records at all, and that is no other one of the kind that A does record."""
        return not self.records_of(event) and pattern_of(event) != pattern_of(own.operation.event)

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

    def early_look(self) -> HostLook | None:
        """The issuing thread's look at the last record in front of the first access, asked once that was issued."""
        before = [record for record in self.a.records if record.place < self.race.first.place]
        if not before or self._waits_between(before[-1].place, self.race.first.place):
            return None
        looks = (look for look in reversed(self._detector.looks) if look.record is before[-1])
        return next((look for look in looks if self._is_between(look.step)), None)

    def misleading_look(self) -> tuple[HostStep, Record | None] | None:
        """What the issuing thread took for the end of the first access, whose transfer has no record of its own: an
        event without a record, a record of another stream, or else an older record of this one."""
        if self._has_own_record:
            return None
        first = self.race.first
        looks = [look for look in self._detector.looks if self._is_between(look.step)]
        others: list[tuple[HostStep, Record | None]]
        others = [(step, None) for step in self.unarmed_looks()]
        for look in looks:
            if look.record.lane is not self.a and look.record.operation.ordinal > first.operation.ordinal:
                others.append((look.step, look.record))
        if others:
            # The look that was meant comes first: others have ends of their own to look for.
            return min(others, key=lambda other: (other[0].issued, other[0].time_ns))
        own = (look for look in looks if look.record.lane is self.a and look.record.place < first.place)
        return next(((look.step, look.record) for look in own), None)

    def unarmed_looks(self) -> list[HostStep]:
        """Times at which the issuing thread was told yes, because the event had no record yet."""
        return [step for step in self._detector.unarmed_looks if self._is_between(step)]

    @property
    def _has_own_record(self) -> bool:
        """Whether the covering record belongs to the first access's transfer, and not to a later one of its stream."""
        own = self.own_record
        return own is not None and not self._waits_between(self.race.first.place, own.place)

    def _is_between(self, step: HostStep) -> bool:
        """A step of the thread that issued the second access, between the issue of the two."""
        first, second = self.race.first.operation, self.race.second.operation
        return step.thread == second.thread and first.ordinal <= step.issued < second.ordinal

    def _waits_between(self, begin: int, end: int) -> bool:
        """Whether A waits for something between two of its places: there another transfer begins."""
        return any(begin < wait.place < end for wait in self.a.waits)

    def looks_for_nothing(self) -> list[HostLook]:
        """Waits for the first access, at any time, of host threads that put nothing in order behind them."""
        lanes = self._detector.lanes
        busy = {record.operation.thread for lane in lanes for record in lane.records}
        busy |= {wait.operation.thread for lane in lanes for wait in lane.waits}
        busy |= {side.operation.thread for side in (self.race.first, self.race.second)}
        return [
            look
            for look in self._detector.looks
            if look.step.kind == "until"
            and look.step.thread not in busy
            and look.record.lane is self.a
            and look.record.place > self.race.first.place
        ]

    def foreign_waits(self) -> list[tuple[Lane, Wait]]:
        """Waits for the covering record on streams that have no business with the buffer."""
        users = self._detector.lanes_using(self.race.buffer)
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
        return self._of_this_layer(known or covering)

    def _of_this_layer(self, records: Sequence[Record]) -> Record:
        """The first; but where several layers' records stand side by side, the one whose number names this layer."""
        for place, record in enumerate(records, start=records[0].place):
            if record.place != place:
                break
            if _last_number(record.operation.event) == self.layer:
                return record
        return records[0]

    def _own_number(self) -> int | None:
        return _last_number(self.own_record.operation.event) if self.own_record is not None else None

    def _event(self) -> str:
        if self.own_record is not None:
            return self.own_record.operation.event
        unarmed = [wait for wait in self.waits_before() if wait.record is None]
        if unarmed:
            return unarmed[0].operation.event
        return f"{self.a.name}.done[{self.layer}]"


def is_by_host(operation: Operation) -> bool:
    """True where a host thread itself touches the memory, and no stream does."""
    return operation.stream == host_lane(operation.thread)


def _last_number(name: str) -> int | None:
    match = _LAST_NUMBER.search(name)
    return int(match[1]) if match else None
