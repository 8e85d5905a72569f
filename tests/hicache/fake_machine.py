"""A machine without time: streams advance only when a test says so. For tests of `kernels.hicache`.

Owns: the contract's ordering rules (FIFO streams, device-side waits bound to the current record, torn copies), with
every step under the test's control. Does not own: cost, host threads, traces. Implements what hicache uses.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kernels.hicache.pieces import HostPiece
from kernels.substrate.contract import (
    Buffer,
    Event,
    HostProgram,
    HostThread,
    KernelBody,
    PageView,
    Query,
    Region,
    Until,
    Versions,
    Write,
)

T = TypeVar("T")

Step = Callable[[], bool]
"""One piece of work: true when it was done, false when it must wait."""


class FakeBuffer:
    def __init__(self, name: str, space: str, layer_count: int, page_count: int, page_bytes: int) -> None:
        self.name = name
        self.space = space
        self.layer_count = layer_count
        self.page_count = page_count
        self.page_bytes = page_bytes
        shape = (layer_count, page_count)
        self.wanted: Versions = np.zeros(shape, dtype=np.int64)
        self.head: Versions = np.zeros(shape, dtype=np.int64)
        self.tail: Versions = np.zeros(shape, dtype=np.int64)

    def __repr__(self) -> str:
        return f"FakeBuffer({self.name})"


@dataclass
class FakeEvent:
    name: str
    issued: int = 0
    completed: int = 0


@dataclass(frozen=True)
class Issued:
    """One call on a stream, as it was made."""

    call: str
    label: str
    point: str = ""
    io: str = ""
    layer: int | None = None
    source: Region | None = None
    target: Region | None = None


@dataclass
class FakeStream:
    name: str
    device: int
    issued: list[Issued] = field(default_factory=list)
    work: deque[Step] = field(default_factory=deque)

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
        assert len(source.pages) == len(target.pages) > 0
        assert len(source.layers) == len(target.layers)
        self.issued.append(Issued("copy", label, point, io, layer, source, target))
        origin, destination = buffer_of(source), buffer_of(target)
        for from_layer, to_layer in zip(source.layers, target.layers, strict=True):
            for from_page, to_page in zip(source.pages.tolist(), target.pages.tolist(), strict=True):
                destination.wanted[to_layer, to_page] = origin.wanted[from_layer, from_page]
                origin_at, target_at = (from_layer, from_page), (to_layer, to_page)
                self.work.append(_move(origin.head, origin_at, destination.head, target_at))
                self.work.append(_move(origin.tail, origin_at, destination.tail, target_at))

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
        self.issued.append(Issued("launch", label, point, layer=layer))
        promised = [wanted(region) for region in reads]
        for write in writes:
            _put(buffer_of(write.region).wanted, write)

        def run() -> bool:
            views = [_view(region, wish) for region, wish in zip(reads, promised, strict=True)]
            if body is not None:
                body(views)
            for write in writes:
                _put(buffer_of(write.region).head, write)
                _put(buffer_of(write.region).tail, write)
            return True

        self.work.append(run)

    def record(self, event: Event) -> None:
        assert isinstance(event, FakeEvent)
        self.issued.append(Issued("record", event.name))
        event.issued += 1
        number = event.issued

        def run() -> bool:
            event.completed = max(event.completed, number)
            return True

        self.work.append(run)

    def wait(self, event: Event) -> None:
        assert isinstance(event, FakeEvent)
        self.issued.append(Issued("wait", event.name))
        number = event.issued
        self.work.append(lambda: event.completed >= number)

    def step(self) -> bool:
        """Do one piece of work; false where there is none, or it must wait."""
        if self.work and self.work[0]():
            self.work.popleft()
            return True
        return False

    def calls(self, call: str) -> list[Issued]:
        return [issued for issued in self.issued if issued.call == call]


class FakeMachine:
    """`rng` chooses which stream advances while a host program waits."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = Random(seed)
        self.streams: dict[str, FakeStream] = {}

    @property
    def now_ns(self) -> int:
        return 0

    def buffer(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> Buffer:
        return FakeBuffer(name, space, layer_count, page_count, page_bytes)

    def stream(self, name: str, *, device: int) -> FakeStream:
        assert name not in self.streams, name
        self.streams[name] = FakeStream(name, device)
        return self.streams[name]

    def event(self, name: str) -> Event:
        return FakeEvent(name)

    def spawn(self, name: str, program: HostProgram) -> HostThread:
        raise NotImplementedError

    def wanted(self, region: Region) -> Versions:
        return wanted(region)

    def landed(self, region: Region) -> Versions:
        view = _view(region, wanted(region))
        return np.where(view.head == view.tail, view.head, -1)

    def step(self) -> bool:
        """Advance one stream, chosen at random among those that can."""
        order = list(self.streams.values())
        self.rng.shuffle(order)
        return any(stream.step() for stream in order)

    def drain(self) -> None:
        while self.step():
            pass
        stuck = [stream.name for stream in self.streams.values() if stream.work]
        assert not stuck, f"streams wait for ever: {stuck}"

    def run(self, piece: HostPiece[T]) -> T:
        """Run a piece of a host program to its end and give its value."""
        answer: bool | None = None
        try:
            while True:
                operation = piece.send(answer)
                assert isinstance(operation, (Query, Until)), operation
                event = operation.event
                assert isinstance(event, FakeEvent)
                if isinstance(operation, Query):
                    answer = event.completed >= event.issued
                    continue
                while event.completed < event.issued:
                    assert self.step(), f"{event.name} never completes"
                answer = None
        except StopIteration as stop:
            value: T = stop.value
            return value


def buffer_of(region: Region) -> FakeBuffer:
    assert isinstance(region.buffer, FakeBuffer)
    return region.buffer


def wanted(region: Region) -> Versions:
    return buffer_of(region).wanted[_index(region)].copy()


def _index(region: Region) -> tuple[NDArray[np.int64], ...]:
    """Index of a region's [layer, page] block."""
    return np.ix_(np.array(region.layers, dtype=np.int64), region.pages)


def _move(source: Versions, source_at: tuple[int, int], target: Versions, target_at: tuple[int, int]) -> Step:
    def run() -> bool:
        target[target_at] = source[source_at]
        return True

    return run


def _put(array: Versions, write: Write) -> None:
    array[_index(write.region)] = write.versions


def _view(region: Region, promised: Versions) -> PageView:
    buffer = buffer_of(region)
    index = _index(region)
    head, tail = buffer.head[index].copy(), buffer.tail[index].copy()
    tear: NDArray[np.float32] = np.where(head == tail, 1.0, 0.5).astype(np.float32)
    late: NDArray[np.int64] = np.where((head == promised) & (tail == promised), 0, -1).astype(np.int64)
    return PageView(region, promised, head, tail, tear, late)
