"""A bench for tests of landings: pools, streams that start at chosen moments, and what readers saw.

Owns: the bench. Times are counted from `begin_ns`, when set-up is over; every page of a copy takes 10 ns.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.substrate.contract import PageView, Region
from kernels.substrate.trace import MemoryTrace
from kernels.substrate.virtual.invariants import check_invariants
from kernels.substrate.virtual.machine import VirtualMachine
from kernels.substrate.virtual.memory import VirtualBuffer
from kernels.substrate.virtual.stream import VirtualStream
from tests.substrate.plain import fill_host, plain_cost, plain_machine


class Bench:
    """Two host pools of four pages of 10 bytes, holding 1 and 2, a device pool of two layers, and a reader."""

    def __init__(self, **numbers: float) -> None:
        self.trace = MemoryTrace()
        self.machine: VirtualMachine = plain_machine(plain_cost(**numbers), trace=self.trace)
        self.one = self._host("one", 1)
        self.two = self._host("two", 2)
        self.device = self.machine.buffer("device", space="device:0", layer_count=2, page_count=4, page_bytes=10)
        self.views: list[PageView] = []
        self.begin_ns = self.machine.now_ns

    def _host(self, name: str, version: int) -> VirtualBuffer:
        host = self.machine.buffer(name, space="host", layer_count=2, page_count=4, page_bytes=10)
        fill_host(self.machine, host, version, self.machine.run)
        return host

    def stream(self, name: str, after_ns: int = 0) -> VirtualStream:
        stream = self.machine.stream(name, device=0)
        stream.launch("start", duration_ns=after_ns, point="compute.layer")
        return stream

    def load(self, stream: VirtualStream, source: VirtualBuffer, target: Region) -> None:
        stream.copy(Region(source, target.layers, target.pages), target, point="h2d.c4", label="load")

    def read(self, stream: VirtualStream, *reads: Region, read_ns: int = 0) -> None:
        def body(views: Sequence[PageView]) -> None:
            self.views.extend(views)

        stream.launch("read", duration_ns=read_ns, read_ns=read_ns, point="compute.layer", reads=reads, body=body)

    def run(self) -> None:
        while (next_ns := self.machine.next_time_ns()) is not None:
            self.machine.advance_to(next_ns)
            check_invariants(self.machine)
