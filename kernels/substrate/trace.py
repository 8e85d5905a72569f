"""The trace: what every operation was, what it touched, what ordered it, and when it ran.

Owns: the records and the cheap sinks (`DigestTrace`, `MemoryTrace`). Does not own: the text format (`trace_json.py`),
nor judging order (races, floor 2b). Floor 1. The format and the order of rows: docs/trace-format.md.

Rows come in an order in which everything that happens before a row, by stream order, by events and by host order, has
been reported earlier. So a happens-before detector reads a trace once, from front to back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple, Protocol

import orjson

from kernels.substrate.contract import Buffer, PageIds, PageView, Region

OperationKind = Literal["copy", "kernel", "record", "wait"]
HostKind = Literal["spawn", "until", "query", "park", "wake", "exit"]

OUTSIDE = "outside"
"""The name of the host thread for work that is issued from outside every host program (set-up)."""


_KNOWN_PAGES_MAX = 256
_PENDING_MAX = 1_000


Access = tuple[bool, Region]
"""One declared access of an operation: whether it writes, and which whole pages."""


@dataclass(slots=True, eq=False)
class Operation:
    """One operation on a stream. A sink gets it when its times are known, and must not change it.

    ordinal: its place in host issue order, over all streams. layer: the model's layer, None where it has none.
    generation: for `record` the number of this record of the event; for `wait` the record it is bound to, 0 for none.
    start_ns: when the stream was free for it; it then waited `delay_ns` of injected delay before it touched a byte.
    site: where the host issued it, empty unless the machine was told to look (then a chain of frames, `sites.py`).
    access_sites: where each of `accesses` was asked for: the accessor where there is one, else `site`; empty likewise.
    """

    ordinal: int
    kind: OperationKind
    stream: str
    thread: str
    label: str
    issue_ns: int
    point: str = ""
    layer: int | None = None
    delay_ns: int = 0
    accesses: tuple[Access, ...] = ()
    io: str = ""
    event: str = ""
    generation: int = 0
    start_ns: int = -1
    end_ns: int = -1
    site: str = ""
    access_sites: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostStep:
    """One step of a host thread that orders it: what it waited for, asked or was told, and the answer.

    time_ns: the thread's clock when the step was over. event, generation: what `until` and `query` looked at.
    other: the thread that `spawn` and `wake` act on. answer: what `query` said; True for the rest.
    wakes: for `wake` its number among the wakes of `other`; for `park` the numbers of the wakes that ended it.
    issued: how many operations had been issued when the step was over: this thread's operations up to this ordinal
        come before the step, its later ones after it.
    """

    kind: HostKind
    thread: str
    time_ns: int
    event: str = ""
    generation: int = 0
    other: str = ""
    answer: bool = True
    wakes: tuple[int, ...] = ()
    issued: int = 0


class TraceSink(Protocol):
    """Takes the rows of one machine's run, in order."""

    def buffer(self, buffer: Buffer) -> None:
        """A buffer came into being; comes before every access to it."""

    def operation(self, operation: Operation) -> None: ...

    def host(self, step: HostStep) -> None: ...

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        """A read saw other bytes than host issue order promises: a fact about bytes, not about order."""


def page_intervals(pages: PageIds) -> list[tuple[int, int]]:
    """Half-open intervals [begin, end) of page ids that the walk covers, in walking order."""
    intervals: list[tuple[int, int]] = []
    for page in pages.tolist():
        if intervals and page == intervals[-1][1]:
            intervals[-1] = (intervals[-1][0], page + 1)
        else:
            intervals.append((page, page + 1))
    return intervals


class DigestTrace:
    """A running BLAKE2b over all rows, each a JSON array: one digest means the same things at the same times."""

    def __init__(self) -> None:
        self.row_count = 0
        self._hash = blake2b(digest_size=16)
        # Rows wait here, because hashing a thousand at once costs a fifth of hashing them one by one.
        self._pending: list[bytes] = []
        self._known_pages: dict[int, tuple[PageIds, str]] = {}

    def __repr__(self) -> str:
        return f"DigestTrace(rows={self.row_count}, digest={self.hexdigest()})"

    def hexdigest(self) -> str:
        self._flush()
        return self._hash.hexdigest()

    def buffer(self, buffer: Buffer) -> None:
        self._add(("buffer", buffer.name, buffer.space, buffer.layer_count, buffer.page_count, buffer.page_bytes))

    def operation(self, operation: Operation) -> None:
        op = operation
        self._add(
            (
                op.ordinal,
                op.kind,
                op.stream,
                op.thread,
                op.label,
                op.point,
                op.layer,
                op.io,
                op.event,
                op.generation,
                op.issue_ns,
                op.delay_ns,
                op.start_ns,
                op.end_ns,
                [(w, region.buffer.name, region.layers, self._page_digest(region.pages)) for w, region in op.accesses],
            )
        )

    def host(self, step: HostStep) -> None:
        it = step
        self._add((it.kind, it.thread, it.time_ns, it.event, it.generation, it.other, it.answer, it.wakes, it.issued))

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        arrays = (view.wanted, view.head, view.tail, view.tear)
        seen = blake2b(b"".join(array.tobytes() for array in arrays), digest_size=16).hexdigest()
        self._add(("stale", operation.ordinal, read_index, seen))

    def _page_digest(self, pages: PageIds) -> str:
        # One array serves many operations, so it is hashed once and recognised after that.
        known = self._known_pages.get(id(pages))
        if known is not None:
            return known[1]
        if len(self._known_pages) >= _KNOWN_PAGES_MAX:
            self._known_pages.clear()
        digest = blake2b(pages.tobytes(), digest_size=16).hexdigest()
        # The array is kept alive with it, so that its id cannot become another array's.
        self._known_pages[id(pages)] = (pages, digest)
        return digest

    def _add(self, row: tuple[object, ...]) -> None:
        self.row_count += 1
        self._pending.append(orjson.dumps(row))
        if len(self._pending) >= _PENDING_MAX:
            self._flush()

    def _flush(self) -> None:
        # Every row ends in a newline, so where the flushes fall does not change the digest.
        self._hash.update(b"".join([row + b"\n" for row in self._pending]))
        self._pending.clear()


class StaleRow(NamedTuple):
    """One read that saw other bytes than promised. `view.late_ns` is complete once the bytes have arrived."""

    operation: Operation
    read_index: int
    view: PageView


class MemoryTrace:
    """All rows, kept: operations and host steps in one list, in order; stale reads and buffers apart."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.rows: list[Operation | HostStep] = []
        self.stale_rows: list[StaleRow] = []

    def __repr__(self) -> str:
        return f"MemoryTrace(buffers={len(self.buffers)}, rows={len(self.rows)}, stale={len(self.stale_rows)})"

    @property
    def operations(self) -> list[Operation]:
        return [row for row in self.rows if isinstance(row, Operation)]

    @property
    def steps(self) -> list[HostStep]:
        return [row for row in self.rows if isinstance(row, HostStep)]

    def buffer(self, buffer: Buffer) -> None:
        self.buffers.append(buffer)

    def operation(self, operation: Operation) -> None:
        self.rows.append(operation)

    def host(self, step: HostStep) -> None:
        self.rows.append(step)

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        self.stale_rows.append(StaleRow(operation, read_index, view))


class Tee:
    """Sends every row to several sinks."""

    def __init__(self, sinks: Sequence[TraceSink]) -> None:
        self.sinks = tuple(sinks)

    def __repr__(self) -> str:
        return f"Tee({', '.join(repr(sink) for sink in self.sinks)})"

    def buffer(self, buffer: Buffer) -> None:
        for sink in self.sinks:
            sink.buffer(buffer)

    def operation(self, operation: Operation) -> None:
        for sink in self.sinks:
            sink.operation(operation)

    def host(self, step: HostStep) -> None:
        for sink in self.sinks:
            sink.host(step)

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        for sink in self.sinks:
            sink.stale(operation, read_index, view)
