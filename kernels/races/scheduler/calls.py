"""The calls that a program makes on a stream, as values, and a machine to stand between a program and another machine.

Owns: one record for each kind of call; `CallStream`, which turns calls into them; `Between`, which hands everything on.
Does not own: what becomes of a call (`issue.py` writes it down, `search/mending.py` adds to it, `search/mutation.py`
breaks it). Floor 2b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.substrate.contract import (
    Buffer,
    Event,
    HostProgram,
    HostThread,
    KernelBody,
    Machine,
    Region,
    Stream,
    Versions,
    Write,
)


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    source: Region
    target: Region
    point: str
    label: str
    io: str
    layer: int | None

    def on(self, stream: Stream) -> None:
        stream.copy(self.source, self.target, point=self.point, label=self.label, io=self.io, layer=self.layer)


@dataclass(frozen=True, slots=True, eq=False)
class Launch:
    label: str
    duration_ns: int
    point: str
    reads: Sequence[Region]
    writes: Sequence[Write]
    read_ns: int
    body: KernelBody | None
    layer: int | None

    def on(self, stream: Stream) -> None:
        stream.launch(
            self.label,
            duration_ns=self.duration_ns,
            point=self.point,
            reads=self.reads,
            writes=self.writes,
            read_ns=self.read_ns,
            body=self.body,
            layer=self.layer,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    event: Event

    def on(self, stream: Stream) -> None:
        stream.record(self.event)


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    event: Event

    def on(self, stream: Stream) -> None:
        stream.wait(self.event)


Call = Copy | Launch | Record | Wait


class CallStream(ABC):
    """A stream of which every call becomes a value; what happens to it is one method's business."""

    def __init__(self, name: str, device: int) -> None:
        self.name = name
        self.device = device

    @abstractmethod
    def enqueue(self, call: Call) -> None:
        """A call of the program, in its order on this stream."""

    def copy(
        self,
        source: Region,
        target: Region,
        *,
        point: str,
        label: str,
        io: str = "kernel",
        layer: int | None = None,
    ) -> None:
        self.enqueue(Copy(source, target, point, label, io, layer))

    def launch(
        self,
        label: str,
        *,
        duration_ns: int,
        point: str,
        reads: Sequence[Region] = (),
        writes: Sequence[Write] = (),
        read_ns: int = 0,
        body: KernelBody | None = None,
        layer: int | None = None,
    ) -> None:
        self.enqueue(Launch(label, duration_ns, point, reads, writes, read_ns, body, layer))

    def record(self, event: Event) -> None:
        self.enqueue(Record(event))

    def wait(self, event: Event) -> None:
        self.enqueue(Wait(event))


class Between:
    """A machine that hands everything on to another one. Whoever stands between overrides what it changes."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.machine!r})"

    @property
    def now_ns(self) -> int:
        return self.machine.now_ns

    def buffer(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> Buffer:
        return self.machine.buffer(
            name, space=space, layer_count=layer_count, page_count=page_count, page_bytes=page_bytes
        )

    def stream(self, name: str, *, device: int) -> Stream:
        return self.machine.stream(name, device=device)

    def event(self, name: str) -> Event:
        return self.machine.event(name)

    def spawn(self, name: str, program: HostProgram) -> HostThread:
        return self.machine.spawn(name, program)

    def wanted(self, region: Region) -> Versions:
        return self.machine.wanted(region)

    def landed(self, region: Region) -> Versions:
        return self.machine.landed(region)
