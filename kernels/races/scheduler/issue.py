"""What a program issues: a machine that takes the calls of a program and keeps what was issued, without running it.

Owns: `IssuingMachine` and the records of issued operations; the ledger of host issue order. Does not own: when anything
runs (`execution.py`), or which host step comes next (`script.py`). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kernels.races.scheduler.calls import Call, CallStream, Copy, Launch, Record, Wait
from kernels.races.scheduler.cells import CellMap, Values
from kernels.substrate.contract import Event, HostProgram, KernelBody, Region, Versions, Write
from kernels.substrate.sites import CallSites
from kernels.substrate.trace import OUTSIDE, Access, HostStep, OperationKind

_OWN_FOLDER = str(Path(__file__).parents[1])


@dataclass(slots=True, eq=False)
class IssuedOp:
    """One operation as issued.

    ordinal: in host issue order, from 1. place: on its stream, from 1. record: for `record` the number of this record
    on the machine (from 1), for `wait` the one it is bound to, 0 for none; generation counts records of one event.
    reads, wanted, writes: fronts of the pages' cells, and the versions that the ledger promises or that are written.
    """

    ordinal: int
    kind: OperationKind
    stream: int
    place: int
    thread: str
    label: str
    layer: int | None = None
    site: str = ""
    access_sites: tuple[str, ...] = ()
    event: str = ""
    generation: int = 0
    record: int = 0
    regions: tuple[tuple[bool, Region], ...] = ()
    reads: tuple[tuple[int, ...], ...] = ()
    wanted: tuple[Values, ...] = ()
    writes: tuple[tuple[int, ...], ...] = ()
    versions: tuple[Values, ...] = ()
    body: KernelBody | None = None


@dataclass(slots=True, eq=False)
class IssueBuffer:
    name: str
    space: str
    layer_count: int
    page_count: int
    page_bytes: int
    call_sites: CallSites | None = None


@dataclass(slots=True, eq=False)
class IssueEvent:
    name: str
    record: int = 0
    generation: int = 0


@dataclass(slots=True, eq=False)
class IssueThread:
    """A host thread: its program and its wakes. The script steps it."""

    name: str
    index: int
    program: HostProgram
    machine: IssuingMachine
    wakes: list[int] = field(default_factory=list)
    wake_count: int = 0

    def wake(self) -> None:
        self.wake_count += 1
        self.wakes.append(self.wake_count)
        machine = self.machine
        machine.host_rows.append(HostStep("wake", machine.thread_name, 0, other=self.name, wakes=(self.wake_count,)))


class IssueStream(CallStream):
    """A stream that only writes down what is enqueued."""

    def __init__(self, machine: IssuingMachine, name: str, device: int, index: int) -> None:
        super().__init__(name, device)
        self.index = index
        self.count = 0
        self._machine = machine

    def __repr__(self) -> str:
        return f"IssueStream({self.name}, issued={self.count})"

    def enqueue(self, call: Call) -> None:
        match call:
            case Copy():
                self._copy(call)
            case Launch():
                self._launch(call)
            case Record(event):
                op, own = self._of_event("record", event)
                own.generation += 1
                own.record = self._machine.new_record()
                op.event, op.generation, op.record = own.name, own.generation, own.record
            case Wait(event):
                op, own = self._of_event("wait", event)
                op.event, op.generation, op.record = own.name, own.generation, own.record

    def _copy(self, call: Copy) -> None:
        machine, source, target = self._machine, call.source, call.target
        from_layers, to_layers = len(source.layers), len(target.layers)
        assert from_layers == to_layers, f"{call.label}: {from_layers} layers to {to_layers}"
        from_pages, to_pages = len(source.pages), len(target.pages)
        assert from_pages == to_pages, f"{call.label}: {from_pages} pages to {to_pages}"
        read, written = machine.fronts(source), machine.fronts(target)
        held = machine.promised(read)
        op = machine.issue("copy", self, call.label, call.layer)
        machine.located(op, ((False, source), (True, target)))
        op.reads, op.wanted, op.writes = (read,), (held,), (written,)
        machine.promise(written, held)

    def _launch(self, call: Launch) -> None:
        machine, reads, writes = self._machine, call.reads, call.writes
        op = machine.issue("kernel", self, call.label, call.layer)
        machine.located(op, (*((False, region) for region in reads), *((True, write.region) for write in writes)))
        op.reads = tuple(machine.fronts(region) for region in reads)
        op.wanted = tuple(machine.promised(fronts) for fronts in op.reads)
        op.writes = tuple(machine.fronts(write.region) for write in writes)
        op.versions = tuple(_flat_versions(write) for write in writes)
        op.body = call.body
        for fronts, versions in zip(op.writes, op.versions, strict=True):
            machine.promise(fronts, versions)

    def _of_event(self, kind: OperationKind, event: Event) -> tuple[IssuedOp, IssueEvent]:
        assert isinstance(event, IssueEvent), f"{event!r} is no event of this machine"
        return self._machine.issue(kind, self, f"{kind} {event.name}", None), event


def _flat_versions(write: Write) -> Values:
    shape = (len(write.region.layers), len(write.region.pages))
    return tuple(np.broadcast_to(write.versions, shape).ravel().tolist())


class IssuingMachine:
    """A machine as a program sees it. `memory` is what `landed` looks at: the script puts it there."""

    def __init__(self, cells: CellMap, *, has_call_sites: bool = False) -> None:
        self.streams: list[IssueStream] = []
        self.threads: list[IssueThread] = []
        self.buffers: list[IssueBuffer] = []
        self.events: dict[str, IssueEvent] = {}
        self.issued: list[IssuedOp] = []
        self.host_rows: list[HostStep] = []
        self.looks: list[tuple[tuple[int, ...], Values]] = []
        self.looks_given: list[Values] | None = None
        self.memory: Sequence[int] = ()
        self.thread_name = OUTSIDE
        self.ledger: dict[int, int] = {}
        """Front cell -> the version that host issue order promises; absent where nothing was issued."""
        self._cells = cells
        self._ordinal = 0
        self._records = 0
        self._sites = CallSites(_OWN_FOLDER) if has_call_sites else None

    def __repr__(self) -> str:
        return f"IssuingMachine(issued={self._ordinal}, streams={len(self.streams)}, threads={len(self.threads)})"

    # The contract.

    @property
    def now_ns(self) -> int:
        """There is no time here: a program whose orders depend on it cannot be explored."""
        return 0

    def buffer(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> IssueBuffer:
        assert all(buffer.name != name for buffer in self.buffers), f"there is a buffer '{name}' already"
        buffer = IssueBuffer(name, space, layer_count, page_count, page_bytes, self._sites)
        self.buffers.append(buffer)
        return buffer

    def stream(self, name: str, *, device: int) -> IssueStream:
        assert all(stream.name != name for stream in self.streams), f"there is a stream '{name}' already"
        stream = IssueStream(self, name, device, len(self.streams))
        self.streams.append(stream)
        return stream

    def event(self, name: str) -> IssueEvent:
        # A name that is made again means a new event; its records keep counting, so that a trace can tell them apart.
        earlier = self.events.get(name)
        event = IssueEvent(name, generation=earlier.generation if earlier is not None else 0)
        self.events[name] = event
        return event

    def spawn(self, name: str, program: HostProgram) -> IssueThread:
        assert all(thread.name != name for thread in self.threads), f"there is a host thread '{name}' already"
        assert isinstance(program, Generator), (
            f"host thread '{name}' is no generator: call the function, spawn the result"
        )
        thread = IssueThread(name, len(self.threads), program, self)
        self.threads.append(thread)
        self.host_rows.append(HostStep("spawn", self.thread_name, 0, other=name))
        return thread

    def wanted(self, region: Region) -> Versions:
        values = [max(0, version) for version in self.promised(self.fronts(region))]
        return np.array(values, dtype=np.int64).reshape(len(region.layers), len(region.pages))

    def landed(self, region: Region) -> Versions:
        """What memory holds now. The look becomes a part of what the host was answered."""
        cells = tuple(front + 1 for front in self.fronts(region))
        if self.looks_given is not None:
            values = self.looks_given.pop(0)
        else:
            memory, initial = self.memory, self._cells.initial
            values = tuple(memory[cell] if cell < len(memory) else initial[cell] for cell in cells)
        self.looks.append((cells, values))
        seen = [max(0, version) for version in values]
        return np.array(seen, dtype=np.int64).reshape(len(region.layers), len(region.pages))

    # What streams need.

    def fronts(self, region: Region) -> tuple[int, ...]:
        buffer = region.buffer
        for layer in region.layers:
            assert 0 <= layer < buffer.layer_count, f"{buffer.name} has no layer {layer}: undeclared access"
        if len(region.pages):
            low, high = int(region.pages.min()), int(region.pages.max())
            assert low >= 0 and high < buffer.page_count, (
                f"{buffer.name} has no page {low if low < 0 else high}: undeclared access"
            )
        return self._cells.fronts(region)

    def promised(self, fronts: Sequence[int]) -> Values:
        ledger, initial = self.ledger, self._cells.initial
        return tuple(ledger.get(front, initial[front]) for front in fronts)

    def promise(self, fronts: Sequence[int], versions: Sequence[int]) -> None:
        self.ledger.update(zip(fronts, versions, strict=True))

    def new_record(self) -> int:
        self._records += 1
        return self._records

    def issue(self, kind: OperationKind, stream: IssueStream, label: str, layer: int | None) -> IssuedOp:
        self._ordinal += 1
        stream.count += 1
        op = IssuedOp(self._ordinal, kind, stream.index, stream.count, self.thread_name, label, layer)
        if self._sites is not None:
            op.site = self._sites.here()
        self.issued.append(op)
        return op

    def located(self, op: IssuedOp, accesses: tuple[Access, ...]) -> None:
        """Give an operation its accesses, and note where each was asked for, if the machine was told to look."""
        op.regions = accesses
        if self._sites is not None:
            if op.kind == "kernel":
                op.access_sites = self._sites.access_sites(op.site, accesses)
            self._sites.launched()
