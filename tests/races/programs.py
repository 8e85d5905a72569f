"""Programs to explore: a load stream fills a pool layer by layer, a compute stream reads it, with one order moved.

Owns: the programs. Does not judge. Floor: tests. Source: facts/concurrency.md sections 2 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernels.substrate.contract import (
    Buffer,
    HostProgram,
    Machine,
    PageView,
    Query,
    Region,
    Sleep,
    Stream,
    Until,
    Write,
)

POINT = "compute.layer"


def pages(*ids: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(ids, dtype=np.int64)


def pools(machine: Machine, layer_count: int, page_count: int = 1) -> tuple[Buffer, Buffer]:
    """A host pool and a device pool."""
    return (
        machine.buffer("host.k", space="host", layer_count=layer_count, page_count=page_count, page_bytes=64),
        machine.buffer("device.k", space="device:0", layer_count=layer_count, page_count=page_count, page_bytes=64),
    )


def load(stream: Stream, host: Buffer, device: Buffer, layer: int) -> None:
    source, target = Region(host, (layer,), pages(0)), Region(device, (layer,), pages(0))
    stream.copy(source, target, point="h2d.index_k", label=f"load[layer {layer}]", layer=layer)


def read(stream: Stream, device: Buffer, layer: int) -> None:
    region = Region(device, (layer,), pages(0))
    stream.launch(f"read[layer {layer}]", duration_ns=10, read_ns=10, point=POINT, reads=(region,), layer=layer)


def index_k(layer_count: int, wait_for: Callable[[int], int | None]) -> Callable[[Machine], None]:
    """Loads and reads of every layer; before reading a layer, compute waits for the layer that `wait_for` says."""

    def program(machine: Machine) -> None:
        host, device = pools(machine, layer_count)
        loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
        done = [machine.event(f"done[{layer}]") for layer in range(layer_count)]
        for layer in range(layer_count):
            load(loading, host, device, layer)
            loading.record(done[layer])
        for layer in range(layer_count):
            waited = wait_for(layer)
            if waited is not None:
                compute.wait(done[waited])
            read(compute, device, layer)

    return program


def gated(layer_count: int) -> Callable[[Machine], None]:
    return index_k(layer_count, lambda layer: layer)


def ungated(layer_count: int) -> Callable[[Machine], None]:
    return index_k(layer_count, lambda _: None)


def last_ungated(layer_count: int) -> Callable[[Machine], None]:
    return index_k(layer_count, lambda layer: layer if layer < layer_count - 1 else None)


def gate_one_short(layer_count: int) -> Callable[[Machine], None]:
    return index_k(layer_count, lambda layer: max(0, layer - 1))


def polling(polls_max: int) -> Callable[[Machine], None]:
    """The host launches the read once a query says yes, or after so many polls in any case."""

    def program(machine: Machine) -> None:
        host, device = pools(machine, 1)
        loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
        done = machine.event("done[0]")

        def main() -> HostProgram:
            load(loading, host, device, 0)
            loading.record(done)
            for _ in range(polls_max):
                if (yield Query(done)):
                    break
                yield Sleep(10)
            read(compute, device, 0)

        machine.spawn("main", main())

    return program


def poll_for_ever(machine: Machine) -> None:
    """The host launches the read only when a query says yes."""
    host, device = pools(machine, 1)
    loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    done = machine.event("done[0]")

    def main() -> HostProgram:
        load(loading, host, device, 0)
        loading.record(done)
        while not (yield Query(done)):
            yield Sleep(10)
        read(compute, device, 0)

    machine.spawn("main", main())


def other_thread_waits(machine: Machine) -> None:
    """One thread waits for the load, another one launches the read."""
    host, device = pools(machine, 1)
    loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    done = machine.event("done[0]")

    def loader() -> HostProgram:
        load(loading, host, device, 0)
        loading.record(done)
        yield Until(done)

    def reader() -> HostProgram:
        yield Sleep(5)
        read(compute, device, 0)

    machine.spawn("loader", loader())
    machine.spawn("reader", reader())


def write_back_clobber(is_fenced: bool) -> Callable[[Machine], None]:
    """A backup reads a page while compute already writes the next owner's content."""

    def program(machine: Machine) -> None:
        host, device = pools(machine, 1)
        compute, backup = machine.stream("compute", device=0), machine.stream("backup", device=0)
        ready, saved = machine.event("ready"), machine.event("saved")
        page = Region(device, (0,), pages(0))
        write(compute, page, 1)
        compute.record(ready)
        backup.wait(ready)
        backup.copy(page, Region(host, (0,), pages(0)), point="d2h.backup", label="backup")
        backup.record(saved)
        if is_fenced:
            compute.wait(saved)
        write(compute, page, 2)

    return program


def write(stream: Stream, region: Region, version: int) -> None:
    written = Write(region, np.array([version], dtype=np.int64))
    stream.launch(f"write v{version}", duration_ns=10, point=POINT, writes=(written,))


def forgotten_pool(machine: Machine) -> None:
    """Wrong bytes without a race: a page is evicted to the host and loaded back, its companion is not."""
    host, device = pools(machine, 2)
    stream = machine.stream("compute", device=0)
    both = Region(device, (0, 1), pages(0))
    write(stream, both, 1)
    stream.copy(both, Region(host, (0, 1), pages(0)), point="d2h.backup", label="backup")
    write(stream, both, 2)
    load(stream, host, device, 0)
    region = Region(device, (1,), pages(0))

    def check(views: Sequence[PageView]) -> None:
        version = int(views[0].tail[0, 0])
        assert version == 1, f"the companion holds version {version}, not 1"

    stream.launch("read", duration_ns=10, read_ns=10, point=POINT, reads=(region,), body=check)
