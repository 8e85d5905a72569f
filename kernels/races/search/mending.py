"""Mending: the program with the missing orders added, without touching its text.

Owns: a machine in front of another one that issues an extra wait, and an extra record, at given places. Works in front
of every machine, so that the price of a wait can be measured in virtual time too. Does not own: which order is missing
(naming). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernels.races.naming.codes import Mend
from kernels.races.scheduler.calls import Between, Call, CallStream
from kernels.races.scheduler.program import Program
from kernels.substrate.contract import Event, Machine, Stream


class Edge(NamedTuple):
    """`stream` waits for `event` before its operation number `place`; where `record_stream` is named, that one records
    the event behind its operation number `record_place`. Places count the program's own operations, from 1."""

    stream: str
    place: int
    event: str
    record_stream: str = ""
    record_place: int = 0


def edge_of(mend: Mend) -> Edge:
    after = mend.record_after
    return Edge(mend.stream, mend.place, mend.event, after.stream if after is not None else "", mend.record_place)


class Additions:
    """What edges add to which operation: events to wait for before it, events to record behind it."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.waits: dict[tuple[str, int], list[str]] = {}
        self.records: dict[tuple[str, int], list[str]] = {}
        for edge in edges:
            _add(self.waits, (edge.stream, edge.place), edge.event)
            if edge.record_stream:
                _add(self.records, (edge.record_stream, edge.record_place), edge.event)

    def __repr__(self) -> str:
        return f"Additions(waits={len(self.waits)}, records={len(self.records)})"

    def new_place(self, stream: str, place: int) -> int:
        """Where the program's operation number `place` stands once the added ones count too."""
        waits = sum(len(events) for (name, at), events in self.waits.items() if name == stream and at <= place)
        records = sum(len(events) for (name, at), events in self.records.items() if name == stream and at < place)
        return place + waits + records


def _add(table: dict[tuple[str, int], list[str]], at: tuple[str, int], event: str) -> None:
    events = table.setdefault(at, [])
    if event not in events:
        events.append(event)


def with_edges(program: Program, edges: Sequence[Edge]) -> Program:
    """The same program on a machine that adds these edges."""

    def mended(machine: Machine) -> None:
        program(MendingMachine(machine, edges))

    return mended


class MendingMachine(Between):
    """Hands everything on; its streams add waits and records."""

    def __init__(self, machine: Machine, edges: Sequence[Edge]) -> None:
        super().__init__(machine)
        self._events: dict[str, Event] = {}
        self._additions = Additions(edges)

    def stream(self, name: str, *, device: int) -> Stream:
        return MendingStream(self, self.machine.stream(name, device=device))

    def event(self, name: str) -> Event:
        event = self._events[name] = self.machine.event(name)
        return event

    def waits_before(self, stream: str, place: int) -> list[Event]:
        return [self._named(event) for event in self._additions.waits.get((stream, place), ())]

    def records_behind(self, stream: str, place: int) -> list[Event]:
        return [self._named(event) for event in self._additions.records.get((stream, place), ())]

    def _named(self, name: str) -> Event:
        return self._events[name] if name in self._events else self.event(name)


class MendingStream(CallStream):
    """A stream that counts the program's operations, and adds to them."""

    def __init__(self, machine: MendingMachine, stream: Stream) -> None:
        super().__init__(stream.name, stream.device)
        self._machine = machine
        self._stream = stream
        self._count = 0

    def __repr__(self) -> str:
        return f"MendingStream({self._stream!r}, count={self._count})"

    def enqueue(self, call: Call) -> None:
        self._count += 1
        for event in self._machine.waits_before(self.name, self._count):
            self._stream.wait(event)
        call.on(self._stream)
        for event in self._machine.records_behind(self.name, self._count):
            self._stream.record(event)
