"""What a stream runs: records, waits and kernels. Each knows its end as soon as the stream is free for it.

Owns: the event algebra (records and what a wait is bound to), and kernels: their reads, their body, their writes. Does
not own: FIFO order (`stream.py`) or copies (`copying.py`), whose end is not known before it comes. Floor 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kernels.substrate.contract import KernelBody, PageView, Region, Versions
from kernels.substrate.trace import Operation
from kernels.substrate.virtual.landing import KernelLanding, settle
from kernels.substrate.virtual.memory import VirtualBuffer
from kernels.substrate.virtual.reading import look

if TYPE_CHECKING:
    from kernels.substrate.virtual.machine import VirtualMachine


class Waiter(Protocol):
    """A stream or a host thread that a record holds up."""

    def go_on(self, done_ns: int) -> None: ...


class Work(Protocol):
    """One operation in a stream's queue."""

    operation: Operation

    def run(self, start_ns: int) -> int | None:
        """Start at this time at the earliest; when it ends, or None where that is not known yet."""


class Record:
    """One record of an event. `done_ns` is None until its completion time is known (which may lie ahead)."""

    __slots__ = ("done_ns", "generation", "waiters")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.done_ns: int | None = None
        self.waiters: list[Waiter] = []

    def __repr__(self) -> str:
        state = "not known" if self.done_ns is None else f"{self.done_ns} ns"
        return f"Record(#{self.generation}, done={state}, waiters={len(self.waiters)})"


class VirtualEvent:
    """An event: the record that is current now, in host issue order. None where it was never recorded."""

    __slots__ = ("current", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.current: Record | None = None

    def __repr__(self) -> str:
        return f"VirtualEvent({self.name}, current={self.current!r})"

    def record(self) -> Record:
        """A new record becomes current; waits that were issued earlier stay with the one they have."""
        self.current = Record(1 if self.current is None else self.current.generation + 1)
        return self.current


class RecordWork:
    """Completes the record when everything before it in the stream has ended."""

    __slots__ = ("_machine", "_record", "operation")

    def __init__(self, machine: VirtualMachine, operation: Operation, record: Record) -> None:
        self._machine = machine
        self.operation = operation
        self._record = record

    def run(self, start_ns: int) -> int:
        self.operation.start_ns = self.operation.end_ns = start_ns
        self._machine.report(self.operation)
        record = self._record
        record.done_ns = start_ns
        for waiter in record.waiters:
            waiter.go_on(start_ns)
        record.waiters.clear()
        return start_ns


class WaitWork:
    """Holds its stream until the record it was bound to has completed."""

    __slots__ = ("_machine", "_record", "_stream", "operation")

    def __init__(self, machine: VirtualMachine, stream: Waiter, operation: Operation, record: Record | None) -> None:
        self._machine = machine
        self._stream = stream
        self.operation = operation
        self._record = record

    @property
    def is_blocked(self) -> bool:
        return self._record is not None and self._record.done_ns is None

    def run(self, start_ns: int) -> int | None:
        record = self._record
        end_ns = start_ns
        if record is not None:
            if record.done_ns is None:
                record.waiters.append(self._stream)
                return None
            end_ns = max(start_ns, record.done_ns)
        self.operation.start_ns = start_ns
        self.operation.end_ns = end_ns
        self._machine.report(self.operation)
        return end_ns


Read = tuple[VirtualBuffer, Region, Versions]
"""One declared read of a kernel, and, flat, what it was promised when the kernel was issued."""

Written = tuple[VirtualBuffer, Region, Versions]
"""One declared write of a kernel, and the versions, flat."""


class KernelWork:
    """A kernel: holds its stream for its duration, reads at the front of it, writes at its end."""

    __slots__ = ("_begin_ns", "_body", "_duration_ns", "_machine", "_read_ns", "_reads", "_writes", "operation")

    def __init__(
        self,
        machine: VirtualMachine,
        operation: Operation,
        duration_ns: int,
        read_ns: int,
        reads: list[Read],
        writes: list[Written],
        body: KernelBody | None,
    ) -> None:
        self._machine = machine
        self.operation = operation
        self._duration_ns = duration_ns
        self._read_ns = read_ns
        self._reads = reads
        self._writes = writes
        self._body = body
        self._begin_ns = -1

    def run(self, start_ns: int) -> int:
        operation, machine = self.operation, self._machine
        self._begin_ns = begin_ns = start_ns + operation.delay_ns
        end_ns = begin_ns + self._duration_ns
        operation.start_ns = start_ns
        operation.end_ns = end_ns
        machine.report(operation)
        if self._reads or self._body is not None:
            for buffer, _, _ in self._reads:
                buffer.open_ns.append(begin_ns)
            machine.at(begin_ns + self._read_ns, self._finish_reading, None)
        if self._writes:
            machine.at(end_ns, self._land, end_ns)
        return end_ns

    def _finish_reading(self, _: None) -> None:
        views = self._look()
        if self._body is not None:
            self._machine.run_body(self.operation, self._body, views)

    def _look(self) -> list[PageView]:
        views: list[PageView] = []
        machine, operation, reads = self._machine, self.operation, self._reads
        # Bytes are read evenly, region after region; a region's turn is [begin, end).
        total_bytes = sum([len(wanted) * buffer.page_bytes for buffer, _, wanted in reads]) or 1
        read_bytes, begin_ns = 0, self._begin_ns
        for index, (buffer, region, wanted) in enumerate(reads):
            read_bytes += len(wanted) * buffer.page_bytes
            end_ns = self._begin_ns + self._read_ns * read_bytes // total_bytes
            view, is_stale = look(operation.ordinal, buffer, region, wanted, (begin_ns, end_ns), machine.whole_pages)
            buffer.close(self._begin_ns)
            views.append(view)
            if is_stale:
                machine.report_stale(operation, index, view)
            begin_ns = end_ns
        return views

    def _land(self, end_ns: int) -> None:
        for buffer, region, versions in self._writes:
            settle(KernelLanding(self.operation.ordinal, buffer, region, versions, end_ns), end_ns)
