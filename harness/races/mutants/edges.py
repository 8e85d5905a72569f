"""The orders that the cache keeps: for each, the two accesses that it orders and the events that can carry it.

Owns: the table, and whether a report names an order. Does not own: reports (`kernels.races`), mutants. Floor 5.
Source: facts/sglang.md section 2, with its numbers. Not here: 5 (third tier), 9 (a later version's barrier), 13 (our
forward is on the schedule stream), 14 (tensors that are kept alive), 15 (graphs), for which the cache has no code; 11
and 12, which are 10 seen from another batch, and a load that was not issued: wrong content, and no order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.races.detector.detector import Detector
from kernels.races.detector.race import Side
from kernels.races.naming.codes import Finding
from kernels.races.search.killing import events_of

_FORWARD, _LOAD, _BACKUP = r"kernel prefill\.r0\.forward", r"copy prefill\.r0\.load", r"copy prefill\.r0\.backup"
_DEVICE, _HOST = r"prefill\.r0\.device\.", r"prefill\.r0\.host\."
_LAYER_EVENT = r"prefill\.r0\.ring\[\d+\]\.(layer|index_k)\[\d+\]"
_BACKUP_START, _BACKUP_END = r"backup\[\d+\]\.r0\.start", r"backup\[\d+\]\.r0\.finish"
_LOAD_START, _FORWARD_END = r"prefill\.r0\.ring\.start\[\d+\]", r"prefill\.forward_done"


@dataclass(frozen=True, slots=True)
class Order:
    """`first` before `second`, on pages of `pool`: patterns of an access (`write copy STREAM`) and of a buffer's name.

    event: pattern of the events that carry this order, one of which a report must speak of. is_layered: the event is
    numbered, and only the layer's own will do.
    """

    name: str
    what: str
    pool: str
    first: str
    second: str
    event: str
    is_layered: bool = False

    def is_named_by(self, finding: Finding, detector: Detector) -> bool:
        """Both accesses are this order's, and the event is that of this very transfer and layer."""
        race = finding.race
        sides = ((self.first, race.first), (self.second, race.second))
        if not (re.match(self.pool, race.buffer) and all(re.fullmatch(want, _access(side)) for want, side in sides)):
            return False
        transfers = _transfers(race.first if race.first.operation.kind == "copy" else race.second, detector)
        named = {event for event in events_of(finding) if re.fullmatch(self.event, event)}
        named = {event for event in named if not transfers or _number(event) in transfers | {None}}
        if not self.is_layered:
            return bool(named)
        return any(event.endswith(f"[{race.second.operation.layer}]") for event in named)


def _access(side: Side) -> str:
    return f"{'write' if side.is_write else 'read'} {side.operation.kind} {side.operation.stream}"


def _transfers(copy: Side, detector: Detector) -> set[int | None]:
    """The number of the transfer that a copy belongs to: that of the start event which its stream waited for last, and
    of the event that it records next. A mutant may have changed one of the two."""
    lane = detector.lane(copy.operation.stream)
    before = [wait.operation.event for wait in lane.waits if wait.place < copy.place]
    behind = [record.operation.event for record in lane.records if record.place > copy.place]
    return {_number(event) for event in (*before[-1:], *behind[:1])}


def _number(event: str) -> int | None:
    """Of a backup, or of a ring slot; None for an event of another kind."""
    found = re.match(r"backup\[(\d+)\]|prefill\.r0\.ring(?:\.start)?\[(\d+)\]", event)
    return int(found[1] or found[2]) if found is not None else None


ORDERS: tuple[Order, ...] = (
    Order(
        "1", "a forward has written a page before its backup reads it", _DEVICE,
        f"write {_FORWARD}", f"read {_BACKUP}", f"{_BACKUP_START}|{_FORWARD_END}",
    ),
    Order(
        "2", "a backup has read a device page before the page is used again", _DEVICE,
        f"read {_BACKUP}", f"write ({_FORWARD}|{_LOAD})", _BACKUP_END,
    ),
    Order(
        "3", "the same where pages are backed up only when they are evicted", _DEVICE,
        f"read {_BACKUP}", f"write ({_FORWARD}|{_LOAD})", _BACKUP_END,
    ),
    Order(
        "4", "a backup has filled a host page before a load reads it", _HOST,
        f"write {_BACKUP}", f"read {_LOAD}", _BACKUP_END,
    ),
    Order(
        "6", "a load has filled a device page before the page is used again", _DEVICE,
        f"write {_LOAD}", f"write ({_FORWARD}|{_LOAD})", _LAYER_EVENT,
    ),
    Order(
        "7", "a load has read a host page before a backup fills it again", _HOST,
        f"read {_LOAD}", f"write {_BACKUP}", _LAYER_EVENT,
    ),
    Order(
        "8", "the old user of a device page is over before a load fills it", _DEVICE,
        f"(read|write) {_FORWARD}", f"write {_LOAD}", f"{_LOAD_START}|{_FORWARD_END}",
    ),
    Order(
        "10", "a load has filled a layer before a forward reads that layer", _DEVICE,
        f"write {_LOAD}", f"read {_FORWARD}", _LAYER_EVENT, is_layered=True,
    ),
    Order(
        "16", "a chunk is not backed up while its forward writes it", _DEVICE,
        f"write {_FORWARD}", f"read {_BACKUP}", f"{_BACKUP_START}|{_FORWARD_END}",
    ),
)  # fmt: skip


def order(name: str) -> Order:
    return next(known for known in ORDERS if known.name == name)
