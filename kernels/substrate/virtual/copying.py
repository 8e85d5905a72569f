"""Copies: what one costs, over which link it goes, and its way through launch, delay and transfer.

Owns: the choice of the link, the cap (what a copy would reach alone, by I/O path), and the life of one copy. Does not
own: sharing (`link.py`), landing (`landing.py`), the numbers (`cost.py`). Floor 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import Region
from kernels.substrate.cost import CostModel
from kernels.substrate.trace import Operation
from kernels.substrate.virtual.landing import CopyLanding
from kernels.substrate.virtual.link import Link, Transfer

if TYPE_CHECKING:
    from kernels.substrate.virtual.machine import VirtualMachine
    from kernels.substrate.virtual.stream import VirtualStream

IO_PATHS = ("kernel", "direct")


class Links:
    """All links of a machine, made when the first copy needs them."""

    def __init__(self, machine: VirtualMachine, cost: CostModel) -> None:
        self._machine = machine
        self._cost = cost
        self._links: dict[tuple[str, str], Link] = {}

    def __repr__(self) -> str:
        return f"Links({', '.join(repr(link) for link in self._links.values())})"

    def all(self) -> list[Link]:
        return list(self._links.values())

    def between(self, source: str, target: str) -> Link:
        """The link from one memory space to another; both directions of a host bus know each other."""
        link = self._links.get((source, target))
        if link is None:
            link = self._links[source, target] = self._make(source, target)
        return link

    def _make(self, source: str, target: str) -> Link:
        numbers = self._cost.link
        scale = self._cost.copy.bandwidth_scale.value
        assert source != "host" or target != "host", "a copy inside host memory is host work, not a stream's"
        if source == target:
            return Link(f"local {source}", numbers.local.value, self._machine)
        if "host" not in (source, target):
            return Link(f"handoff {source} to {target}", numbers.handoff.value, self._machine)
        name, bandwidth = ("h2d", numbers.h2d.value) if source == "host" else ("d2h", numbers.d2h.value)
        device = target if source == "host" else source
        link = Link(f"{name} {device}", bandwidth * scale, self._machine, duplex=numbers.duplex.value)
        back = self._links.get((target, source))
        if back is not None:
            link.opposite, back.opposite = back, link
        return link


class CopyPrices:
    """Prices of copies, before jitter: by the gather kernel, by one copy a run of pages, or between devices."""

    def __init__(self, cost: CostModel) -> None:
        self._cost = cost
        self._page_ns = cost.page_ns
        self._gather_bandwidth = cost.gather_bandwidth
        self._local_bandwidth = cost.link.local.value
        self._handoff_bandwidth = cost.link.handoff.value

    def plan(self, source: Region, target: Region, io: str) -> tuple[int, int, float]:
        """Bytes to move; host calls that enqueue the copy; nanoseconds in which its bytes move on an idle link."""
        source_space, target_space = source.buffer.space, target.buffer.space
        page_bytes = source.buffer.page_bytes
        page_count = len(source.layers) * len(source.pages)
        if source_space != "host" and target_space != "host":
            bandwidth = self._local_bandwidth if source_space == target_space else self._handoff_bandwidth
        elif io == "kernel":
            bandwidth = self._gather_bandwidth
        else:
            lengths = run_lengths(source.pages, target.pages)
            solo_ns = self._cost.runs_ns(lengths.astype(np.float64) * page_bytes)
            layer_count = len(source.layers)
            return page_count * page_bytes, layer_count * len(lengths), layer_count * solo_ns
        return page_count * page_bytes, 1, page_count * (self._page_ns + page_bytes / bandwidth)


def run_lengths(source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lengths in pages of the runs that are contiguous on both sides: each is one copy of the `direct` path."""
    if not len(source):
        return np.zeros(0, dtype=np.int64)
    breaks = np.flatnonzero((np.diff(source) != 1) | (np.diff(target) != 1)) + 1
    edges = np.concatenate(([0], breaks, [len(source)]))
    lengths: NDArray[np.int64] = np.diff(edges).astype(np.int64)
    return lengths


class CopyWork:
    """One copy in a stream's queue. Holds the stream until its last byte has landed."""

    __slots__ = ("_byte_count", "_enqueued_ns", "_landing", "_link", "_machine", "_solo_ns", "_stream", "operation")

    def __init__(
        self,
        machine: VirtualMachine,
        stream: VirtualStream,
        operation: Operation,
        landing: CopyLanding,
        link: Link,
        byte_count: int,
        solo_ns: float,
        enqueued_ns: int,
    ) -> None:
        self._machine = machine
        self._stream = stream
        self.operation = operation
        self._landing = landing
        self._link = link
        self._byte_count = byte_count
        self._solo_ns = solo_ns
        # When the host has enqueued the last of several copies: the bytes cannot be there before it.
        self._enqueued_ns = enqueued_ns

    def run(self, start_ns: int) -> None:
        self.operation.start_ns = start_ns
        begin_ns = start_ns + self._machine.launch_ns + self.operation.delay_ns
        self._machine.at(begin_ns, self._begin, begin_ns)

    def _begin(self, begin_ns: int) -> None:
        byte_count = self._byte_count
        if byte_count == 0:
            self._stream.release(self.operation, begin_ns)
            return
        solo_ns = max(self._solo_ns, float(self._enqueued_ns - begin_ns), 1.0)
        transfer = Transfer(byte_count, byte_count / solo_ns, begin_ns, self._finish)
        self._landing.begin(transfer)
        self._link.join(transfer, begin_ns)

    def _finish(self, end_ns: int) -> None:
        self._landing.end(end_ns)
        self._stream.release(self.operation, end_ns)
