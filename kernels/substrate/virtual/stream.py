"""Streams: FIFO queues of device work.

Owns: what a host call on a stream means (operation, ledger, host cost) and FIFO order. Does not own: what the work does
when it runs (`work.py`, `copying.py`), or time (`machine.py`). Floor 1.

An operation starts when the one before it has ended, its host call is over, and, for a wait, its record is complete.
Ends are worked out as early as they are known, so a queue of kernels and events costs no step of the clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernels.substrate.contract import Event, KernelBody, Region, Write
from kernels.substrate.paged import check_copy, flat_versions, gather, scatter
from kernels.substrate.trace import Access, Operation, OperationKind
from kernels.substrate.virtual.copying import IO_PATHS, CopyWork
from kernels.substrate.virtual.landing import CopyLanding
from kernels.substrate.virtual.memory import VirtualBuffer
from kernels.substrate.virtual.work import KernelWork, Read, Record, RecordWork, WaitWork, Work, Written

if TYPE_CHECKING:
    from kernels.substrate.virtual.machine import VirtualMachine


class VirtualStream:
    """A FIFO of work on one device."""

    def __init__(self, machine: VirtualMachine, name: str, device: int) -> None:
        self.name = name
        self.device = device
        self.free_ns = 0
        self._machine = machine
        self._space = f"device:{device}"
        self._queue: deque[Work] = deque()
        self._is_held = False
        self._keys: dict[tuple[str, int | None], str] = {}

    def __repr__(self) -> str:
        head = self._queue[0].operation.label if self._queue else "nothing"
        return (
            f"VirtualStream({self.name}, device={self.device}, free={self.free_ns} ns, queued={len(self._queue)}, "
            f"head={head!r})"
        )

    @property
    def queued(self) -> list[Operation]:
        """What has not ended yet, as far as is known, in order."""
        return [work.operation for work in self._queue]

    @property
    def head(self) -> Work | None:
        """What the stream stands at, None where it is idle."""
        return self._queue[0] if self._queue else None

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
        key = self._key(point, layer)
        byte_count, call_count, solo_ns = machine.copy_prices.plan(source, target, io)
        # The device may start when the first call is over; on the direct path the last one is over later.
        ordinal, thread, issue_ns = machine.issue(label, machine.enqueue_ns)
        enqueued_ns = machine.host_call(machine.enqueue_ns * (call_count - 1)) if call_count > 1 else issue_ns
        delay_ns = machine.delay_ns(point, layer, key)
        accesses: tuple[Access, ...] = ((False, source), (True, target))
        operation = Operation(
            ordinal,
            "copy",
            self.name,
            thread,
            label,
            issue_ns,
            point,
            layer,
            delay_ns,
            accesses,
            io,
        )
        machine.locate(operation)
        scatter(there.wanted, target, gather(held.wanted, source))
        solo_ns *= machine.choices.stretch(key, machine.copy_sigma)
        landing = CopyLanding(ordinal, held, source, there, target)
        link = machine.links.between(held.space, there.space)
        self._enqueue(CopyWork(machine, self, operation, landing, link, byte_count, solo_ns, enqueued_ns))

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
        key = self._key(point, layer)
        ordinal, thread, issue_ns = machine.issue(label, machine.enqueue_ns)
        accesses: list[Access] = []
        read_list: list[Read] = []
        for region in reads:
            buffer = self._local(region, label)
            read_list.append((buffer, region, gather(buffer.wanted, region)))
            accesses.append((False, region))
        write_list: list[Written] = []
        for write in writes:
            region = write.region
            buffer = self._local(region, label)
            versions = flat_versions(region, write.versions)
            scatter(buffer.wanted, region, versions)
            write_list.append((buffer, region, versions))
            accesses.append((True, region))
        delay_ns = machine.delay_ns(point, layer, key)
        operation = Operation(
            ordinal,
            "kernel",
            self.name,
            thread,
            label,
            issue_ns,
            point,
            layer,
            delay_ns,
            tuple(accesses),
        )
        machine.locate(operation)
        stretch = machine.choices.stretch(key, machine.compute_sigma)
        duration_ns, read_ns = round(duration_ns * stretch), round(read_ns * stretch)
        self._enqueue(KernelWork(machine, operation, duration_ns, read_ns, read_list, write_list, body))

    def record(self, event: Event) -> None:
        record = self._machine.own_event(event).record()
        self._enqueue(RecordWork(self._machine, self._event_operation("record", event, record), record))

    def wait(self, event: Event) -> None:
        record = self._machine.own_event(event).current
        self._enqueue(WaitWork(self._machine, self, self._event_operation("wait", event, record), record))

    def _event_operation(self, kind: OperationKind, event: Event, record: Record | None) -> Operation:
        ordinal, thread, issue_ns = self._machine.issue(event.name, self._machine.event_ns)
        operation = Operation(
            ordinal,
            kind,
            self.name,
            thread,
            event.name,
            issue_ns,
            event=event.name,
            generation=0 if record is None else record.generation,
        )
        self._machine.locate(operation)
        return operation

    def go_on(self, done_ns: int) -> None:
        """The record that the head of the queue waits for is complete."""
        assert self._queue, f"{self.name} was told of {done_ns} ns but waits for nothing"
        self._machine.drain(self)

    def release(self, operation: Operation, end_ns: int) -> None:
        """The copy at the head has ended."""
        assert self._queue[0].operation is operation, f"{self.name} is not running {operation.label}"
        operation.end_ns = self.free_ns = end_ns
        self._queue.popleft()
        self._is_held = False
        self._machine.report(operation)
        self._machine.drain(self)

    def advance(self) -> None:
        """Run everything whose end can be known now."""
        queue = self._queue
        while queue and not self._is_held:
            work = queue[0]
            end_ns = work.run(max(self.free_ns, work.operation.issue_ns))
            if end_ns is None:
                # A wait runs again when its record is complete; a copy is released when it ends.
                self._is_held = isinstance(work, CopyWork)
                return
            queue.popleft()
            self.free_ns = end_ns

    def _enqueue(self, work: Work) -> None:
        self._queue.append(work)
        if len(self._queue) == 1:
            self._machine.drain(self)

    def _local(self, region: Region, label: str) -> VirtualBuffer:
        buffer = self._machine.own(region)
        assert buffer.space == self._space, f"{label} on {self._space} touches {buffer.name} in {buffer.space}"
        return buffer

    def _key(self, point: str, layer: int | None) -> str:
        key = self._keys.get((point, layer))
        if key is None:
            self._machine.check_point(point)
            key = self._keys[point, layer] = f"{self.name}/{point}" + ("" if layer is None else f"/L{layer}")
        return key
