"""The substrate's contract: Stream, Event, Buffer, Machine, and what a read saw.

Owns: the seams that every substrate (`virtual`, later `threaded` and `cuda`) implements, and the records that
cross them. Does not own: time, cost, content; see `virtual/`, `cost.py` and the engine.
Floor 1. Semantics: DESIGN.md section 2; one shared test holds every substrate to them.

Host programs are generators. They issue work by plain calls, which never block, and they *yield* wherever the
host looks at the device or lets time pass (`Until`, `Query`, `Sleep`, `Park`). So a substrate decides at every
yield what happens next: by virtual time, by a chosen schedule, or by really blocking.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

PageIds = NDArray[np.int64]
Versions = NDArray[np.int64]

UNWRITTEN = 0
"""Version of a page that nothing was ever written to (device pools start as zeros)."""


@runtime_checkable
class Buffer(Protocol):
    """A paged pool: [layer_count, page_count] pages of `page_bytes` each, in one memory space.

    Every page carries a version: an opaque positive int that names its content (0 = never written).
    """

    name: str
    space: str
    """`host`, or `device:N`."""
    layer_count: int
    page_count: int
    page_bytes: int


class Origin(NamedTuple):
    """Where in the host's code a region was made, and how many copies and kernels had been issued by then."""

    site: str
    age: int


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """Whole pages of a buffer: the footprint of one access, walked layer by layer, then page by page.

    layers: buffer-local layer ids, in walking order. pages: [n] int64, in walking order. origin: None unless the
    buffer's machine was told to look; then the buffer has a `call_sites` (`sites.py`).
    """

    buffer: Buffer
    layers: tuple[int, ...]
    pages: PageIds
    origin: Origin | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        sites = getattr(self.buffer, "call_sites", None)
        if sites is not None:
            object.__setattr__(self, "origin", sites.origin())

    @property
    def byte_count(self) -> int:
        return len(self.layers) * len(self.pages) * self.buffer.page_bytes


@dataclass(frozen=True, slots=True, eq=False)
class PageView:
    """What one read saw. Arrays are [layer, page] in the region's walking order.

    wanted: the version that host issue order promises: the last write issued before this read was issued.
    head / tail: the versions in front of and behind the tear (equal where the page was whole).
    tear: fraction of the page, from its start, that holds `head`; 1.0 where the page was whole.
    late_ns: how long after the read the wanted bytes arrived; 0 where the page was right. -1 where they have not
        arrived yet: the substrate fills the number in, in this same array, when they do.
    """

    region: Region
    wanted: Versions
    head: Versions
    tail: Versions
    tear: NDArray[np.float32]
    late_ns: NDArray[np.int64]

    @property
    def stale(self) -> NDArray[np.bool_]:
        """[layer, page] true where any part of the page is not the wanted version."""
        differs: NDArray[np.bool_] = (self.head != self.wanted) | (self.tail != self.wanted)
        return differs


class KernelBody(Protocol):
    """Runs when the kernel has finished reading; gets one PageView for each declared read, in order."""

    def __call__(self, views: Sequence[PageView]) -> None: ...


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """A kernel's write: `versions` [n] (same for all layers) or [layer, n], named when the kernel is issued."""

    region: Region
    versions: Versions


class Event(Protocol):
    name: str


class Stream(Protocol):
    """A FIFO of work on one device. Every call only enqueues, and costs the issuing host thread some time.

    `layer` is the model's layer (a region's are its buffer's own): injected delays and reports go by it.
    """

    name: str
    device: int

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
        """Copy pages, in walking order, in pieces: torn pages are reachable. `io`: `kernel` or `direct`."""

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
        """Run a kernel. It reads its regions during its first `read_ns` and its writes land when it ends."""

    def record(self, event: Event) -> None: ...

    def wait(self, event: Event) -> None:
        """Device-side wait, bound to the record that is current now; a no-op where there is none."""


# What a host program may yield. The value that comes back is in each class's docstring.


@dataclass(frozen=True, slots=True)
class Until:
    """Block this host thread until the event's current record has completed (event.synchronize). Gives None."""

    event: Event


@dataclass(frozen=True, slots=True)
class Query:
    """Ask, without blocking, whether the event's current record has completed. Gives a bool (True if unrecorded)."""

    event: Event


@dataclass(frozen=True, slots=True)
class Sleep:
    """Let `duration_ns` of host time pass: host work, polling pause. Gives None.

    point: where it is named, the delay that is injected at that point is added (`host.schedule`).
    """

    duration_ns: int
    point: str = ""


@dataclass(frozen=True, slots=True)
class SleepUntil:
    """Let host time pass until `time_ns`. Gives None."""

    time_ns: int


@dataclass(frozen=True, slots=True)
class Park:
    """Sleep until `HostThread.wake` is called (a wake that came earlier is not lost). Gives None."""


HostOp = Until | Query | Sleep | SleepUntil | Park
HostProgram = Generator[HostOp, "bool | None", None]


class HostThread(Protocol):
    name: str

    def wake(self) -> None: ...


class Machine(Protocol):
    """One machine: streams, events, buffers and host threads over one clock."""

    @property
    def now_ns(self) -> int: ...

    def buffer(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> Buffer: ...

    def stream(self, name: str, *, device: int) -> Stream: ...

    def event(self, name: str) -> Event: ...

    def spawn(self, name: str, program: HostProgram) -> HostThread: ...

    def wanted(self, region: Region) -> Versions:
        """[layer, page] versions that host issue order promises now: the ledger, not the bytes."""

    def landed(self, region: Region) -> Versions:
        """[layer, page] versions that are in the memory now: the at-rest check reads this."""


@dataclass(frozen=True, slots=True)
class Delay:
    """An injected delay at a named point: sampled once per operation, added before it starts moving bytes."""

    point: str
    distribution: str
    parameters: tuple[float, ...]
    layers: tuple[int, ...] = field(default=())


SampleNs = Callable[[], int]
