"""Streams and events of a real machine: what a host call means, before a backend carries it out.

Owns: operation, ledger and delay of each call. Does not own: carrying it out (the lane). Floor 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernels.substrate.contract import Event, KernelBody, Region, Write
from kernels.substrate.paged import PagedBuffer, check_copy, flat_versions, gather, scatter
from kernels.substrate.real.work import Access, CopyJob, KernelJob, Lane, Record, RecordJob, WaitJob
from kernels.substrate.trace import Operation, OperationKind
from kernels.substrate.virtual.copying import IO_PATHS

if TYPE_CHECKING:
    from kernels.substrate.real.machine import RealMachine


class RealEvent:
    """An event: the record that is current now, in host issue order. None where it was never recorded."""

    __slots__ = ("current", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.current: Record | None = None

    def __repr__(self) -> str:
        return f"RealEvent({self.name}, current={self.current!r})"


class RealStream:
    """A FIFO of work on one device."""

    def __init__(self, machine: RealMachine, name: str, device: int, lane: Lane) -> None:
        self.name = name
        self.device = device
        self.lane = lane
        self._machine = machine
        self._space = f"device:{device}"

    def __repr__(self) -> str:
        return f"RealStream({self.name}, device={self.device}, outstanding={len(self.lane.outstanding)})"

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
        machine = self._machine
        held, there = machine.own(source), machine.own(target)
        assert io in IO_PATHS, f"I/O path '{io}' is none of {IO_PATHS}"
        check_copy(held, source, there, target, label=label, stream=self.name, space=self._space)
        operation = self._operation(label, "copy", point, layer)
        operation.io = io
        operation.accesses = ((False, source), (True, target))
        machine.locate(operation)
        versions = gather(held.wanted, source)
        scatter(there.wanted, target, versions)
        pace_ns = round(machine.copy_prices.plan(source, target, io)[2])
        ends = Access(held, source, versions), Access(there, target, versions)
        self.lane.submit(CopyJob(operation, *ends, pace_ns))

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
        assert 0 <= read_ns <= duration_ns, f"{label} reads for {read_ns} ns of {duration_ns} ns"
        machine = self._machine
        operation = self._operation(label, "kernel", point, layer)
        read = [self._local(region, label) for region in reads]
        wanted = [Access(buffer, region, gather(buffer.wanted, region)) for buffer, region in read]
        written = []
        for write in writes:
            buffer, region = self._local(write.region, label)
            versions = flat_versions(region, write.versions)
            scatter(buffer.wanted, region, versions)
            written.append(Access(buffer, region, versions))
        operation.accesses = (*((False, region) for region in reads), *((True, write.region) for write in writes))
        machine.locate(operation)
        self.lane.submit(KernelJob(operation, wanted, written, read_ns, duration_ns, body))

    def record(self, event: Event) -> None:
        own = self._machine.own_event(event)
        generation = 1 if own.current is None else own.current.generation + 1
        own.current = Record(own.name, generation, self.name)
        self.lane.submit(RecordJob(self._event_operation("record", own), own.current))

    def wait(self, event: Event) -> None:
        own = self._machine.own_event(event)
        self.lane.submit(WaitJob(self._event_operation("wait", own), own.current))

    def _operation(self, label: str, kind: OperationKind, point: str, layer: int | None) -> Operation:
        machine = self._machine
        machine.check_point(point)
        ordinal, thread, issue_ns = machine.issue(label)
        key = f"{self.name}/{point}" + ("" if layer is None else f"/L{layer}")
        delay_ns = machine.delay_ns(key, point, layer)
        return Operation(ordinal, kind, self.name, thread, label, issue_ns, point, layer, delay_ns)

    def _event_operation(self, kind: OperationKind, event: RealEvent) -> Operation:
        ordinal, thread, issue_ns = self._machine.issue(event.name)
        generation = 0 if event.current is None else event.current.generation
        operation = Operation(
            ordinal,
            kind,
            self.name,
            thread,
            event.name,
            issue_ns,
            event=event.name,
            generation=generation,
        )
        self._machine.locate(operation)
        return operation

    def _local(self, region: Region, label: str) -> tuple[PagedBuffer, Region]:
        buffer = self._machine.own(region)
        assert buffer.space == self._space, f"{label} on {self._space} touches {buffer.name} in {buffer.space}"
        return buffer, region
