"""The parts that specimens are made of: pools, copies, kernels that check what they read, writes by the host.

Owns: short spellings of the contract's calls. Does not own: semantics (`kernels.substrate.contract`). Floor 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.races.identity import ORDERED_YET_STALE
from kernels.substrate.contract import (
    Buffer,
    Event,
    HostProgram,
    KernelBody,
    Machine,
    PageView,
    Region,
    Stream,
    Until,
    Versions,
    Write,
)

ANOTHER_REPLY = "the reply is another"
"""What the message of a failed `replies` ends with; the judge goes by it."""

Written = tuple[Region, int | Versions]


class Pool:
    """One buffer, and ranges of it."""

    def __init__(
        self, machine: Machine, name: str, pages: int = 1, *, layers: int = 1, space: str = "device:0"
    ) -> None:
        self.buffer: Buffer = machine.buffer(name, space=space, layer_count=layers, page_count=pages, page_bytes=4_096)

    def __repr__(self) -> str:
        return f"Pool({self.buffer.name})"

    def at(self, *pages: int, layer: int = 0) -> Region:
        __tracebackhide__ = True  # Who asks for the pages is the call site.
        return Region(self.buffer, (layer,), np.array(pages, dtype=np.int64))


def host_pool(machine: Machine, name: str, pages: int = 1, *, layers: int = 1) -> Pool:
    return Pool(machine, name, pages, layers=layers, space="host")


def copy(stream: Stream, source: Region, target: Region, label: str) -> None:
    __tracebackhide__ = True
    stream.copy(source, target, point="copy", label=label)


def kernel(
    stream: Stream,
    label: str,
    *,
    reads: Sequence[Region] = (),
    writes: Sequence[Written] = (),
    body: KernelBody | None = None,
) -> None:
    """A kernel that reads, checks what it read, and writes versions: one number for all pages, or one a page."""
    __tracebackhide__ = True
    done = [Write(region, np.broadcast_to(np.asarray(version), (len(region.pages),))) for region, version in writes]
    stream.launch(label, duration_ns=10, read_ns=10, point="compute", reads=reads, writes=done, body=body)


def replies(*versions: int) -> KernelBody:
    """A body that fails, as the reply would, where read number i does not hold version number i on all its pages.

    Where host issue order promised these other bytes, nobody was too early: then it says `ordered, yet stale` too.
    """

    def body(views: Sequence[PageView]) -> None:
        for view, version in zip(views, versions, strict=True):
            wrong = (view.head != version) | (view.tail != version)
            if wrong.any():
                found = sorted({*view.head[wrong].tolist(), *view.tail[wrong].tolist()} - {version})
                text = f"{view.region.buffer.name} holds version {found[0]}, not {version}: {ANOTHER_REPLY}"
                raise AssertionError(text if (wrong & view.stale).any() else f"{ORDERED_YET_STALE}: {text}")

    return body


def by_host(cpu: Stream, done: Event, region: Region, version: int, label: str) -> HostProgram:
    """The host itself writes, and goes on when it has: `yield from` it. cpu: a stream that only this thread uses."""
    kernel(cpu, label, writes=[(region, version)])
    cpu.record(done)
    yield Until(done)
