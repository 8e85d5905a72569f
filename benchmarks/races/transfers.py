"""Broken transfers between streams, each with the twin that has its order: the programs that searches are compared on.

Owns: the programs; `is_ordered` is the only difference between the two. Does not judge, and does not own programs of
host threads (`threads.py`). Source: facts/concurrency.md sections 3a and 5 (patterns of merged and open faults).
"""

from __future__ import annotations

import numpy as np

from kernels.races.scheduler.program import Program
from kernels.substrate.contract import Buffer, Event, Machine, Region, Stream, Write

LAYERS = 20
LOCAL_KERNELS = 3
EXCHANGES = 30
PAGES = 12


def page_of(buffer: Buffer, layer: int = 0, page: int = 0) -> Region:
    return Region(buffer, (layer,), np.array([page], dtype=np.int64))


def pool(machine: Machine, name: str, *, layers: int = 1, pages: int = 1, space: str = "device:0") -> Buffer:
    return machine.buffer(name, space=space, layer_count=layers, page_count=pages, page_bytes=4_096)


def load(stream: Stream, source: Region, target: Region, label: str) -> None:
    stream.copy(source, target, point="h2d", label=f"load {label}")


def read(stream: Stream, region: Region, label: str) -> None:
    stream.launch(f"read {label}", duration_ns=10, read_ns=10, point="compute", reads=(region,))


def write(stream: Stream, region: Region, version: int, label: str) -> None:
    written = Write(region, np.array([version], dtype=np.int64))
    stream.launch(f"write {label}", duration_ns=10, point="compute", writes=(written,))


def copies_and_reader(*, is_ordered: bool, layers: int = LAYERS) -> Program:
    """A load stream copies twenty layers, a compute stream reads them; no read waits."""

    def program(machine: Machine) -> None:
        host, device, loading, compute, done = _layered(machine, layers)
        for layer in range(layers):
            load(loading, page_of(host, layer), page_of(device, layer), f"layer {layer}")
            loading.record(done[layer])
        for layer in range(layers):
            if is_ordered:
                compute.wait(done[layer])
            read(compute, page_of(device, layer), f"layer {layer}")

    return program


def last_layer(*, is_ordered: bool) -> Program:
    """Twenty layers, three kernels of their own between the reads; only the last read does not wait."""

    def program(machine: Machine) -> None:
        host, device, loading, compute, done = _layered(machine, LAYERS)
        scratch = page_of(pool(machine, "scratch"))
        for layer in range(LAYERS):
            load(loading, page_of(host, layer), page_of(device, layer), f"layer {layer}")
            loading.record(done[layer])
        for layer in range(LAYERS):
            if is_ordered or layer < LAYERS - 1:
                compute.wait(done[layer])
            read(compute, page_of(device, layer), f"layer {layer}")
            for kernel in range(LOCAL_KERNELS):
                write(compute, scratch, 1 + layer * LOCAL_KERNELS + kernel, "scratch")

    return program


def late_wait(*, is_ordered: bool) -> Program:
    """The wait for a layer is put in behind its read, so that each read is covered by the wait of the layer before."""

    def program(machine: Machine) -> None:
        host, device, loading, compute, done = _layered(machine, 4)
        for layer in range(4):
            load(loading, page_of(host, layer), page_of(device, layer), f"layer {layer}")
            loading.record(done[layer])
        for layer in range(4):
            if is_ordered:
                compute.wait(done[layer])
            read(compute, page_of(device, layer), f"layer {layer}")
            if not is_ordered:
                compute.wait(done[layer])

    return program


def early_record(*, is_ordered: bool) -> Program:
    """The event of a layer is recorded in front of the layer's copy; the reader waits for it faithfully."""

    def program(machine: Machine) -> None:
        host, device, loading, compute, done = _layered(machine, 4)
        for layer in range(4):
            if not is_ordered:
                loading.record(done[layer])
            load(loading, page_of(host, layer), page_of(device, layer), f"layer {layer}")
            if is_ordered:
                loading.record(done[layer])
        for layer in range(4):
            compute.wait(done[layer])
            read(compute, page_of(device, layer), f"layer {layer}")

    return program


def reuse(*, is_ordered: bool) -> Program:
    """Twelve pages are written and backed up; the first one gets its next owner while its backup may still read it."""

    def program(machine: Machine) -> None:
        host = pool(machine, "host.kv", pages=PAGES, space="host")
        device = pool(machine, "device.kv", pages=PAGES)
        compute, backup = machine.stream("compute", device=0), machine.stream("backup", device=0)
        saved = machine.event("saved[0]")
        for page in range(PAGES):
            ready = machine.event(f"ready[{page}]")
            write(compute, page_of(device, page=page), 1 + page, f"page {page}")
            compute.record(ready)
            backup.wait(ready)
            source, target = page_of(device, page=page), page_of(host, page=page)
            backup.copy(source, target, point="d2h", label=f"backup page {page}")
            if page == 0:
                backup.record(saved)
        if is_ordered:
            compute.wait(saved)
        write(compute, page_of(device), 100, "page 0 again")

    return program


def long_chain(*, is_ordered: bool) -> Program:
    """Compute sends thirty pages to a peer, in order, and then reads a page whose copy it never waited for."""

    def program(machine: Machine) -> None:
        host, device = pool(machine, "host.kv", space="host"), pool(machine, "device.kv")
        mail = pool(machine, "mail", pages=EXCHANGES)
        loading, compute, peer = (machine.stream(name, device=0) for name in ("load", "compute", "peer"))
        loaded = machine.event("loaded")
        load(loading, page_of(host), page_of(device), "page")
        loading.record(loaded)
        for turn in range(EXCHANGES):
            sent = machine.event(f"sent[{turn}]")
            write(compute, page_of(mail, page=turn), 1 + turn, f"mail {turn}")
            compute.record(sent)
            peer.wait(sent)
            read(peer, page_of(mail, page=turn), f"mail {turn}")
        if is_ordered:
            compute.wait(loaded)
        read(compute, page_of(device), "page")

    return program


def handoff(*, is_ordered: bool) -> Program:
    """Pages travel to the decode side on one stream, their metadata on another; decode waits for the metadata alone."""

    def program(machine: Machine) -> None:
        ours, theirs = pool(machine, "prefill.kv", pages=4), pool(machine, "decode.kv", pages=4, space="device:1")
        row, their_row = pool(machine, "prefill.row"), pool(machine, "decode.row", space="device:1")
        prefill, bulk, small = (machine.stream(name, device=0) for name in ("prefill", "bulk", "small"))
        decode = machine.stream("decode", device=1)
        computed, landed, told = (machine.event(name) for name in ("computed", "landed", "told"))
        for page in range(4):
            write(prefill, page_of(ours, page=page), 1 + page, f"page {page}")
        write(prefill, page_of(row), 9, "row")
        prefill.record(computed)
        bulk.wait(computed)
        small.wait(computed)
        for page in range(4):
            bulk.copy(page_of(ours, page=page), page_of(theirs, page=page), point="rdma", label=f"send page {page}")
        bulk.record(landed)
        small.copy(page_of(row), page_of(their_row), point="rdma", label="send row")
        small.record(told)
        decode.wait(told)
        read(decode, page_of(their_row), "row")
        if is_ordered:
            decode.wait(landed)
        for page in range(4):
            read(decode, page_of(theirs, page=page), f"page {page}")

    return program


def _layered(machine: Machine, layers: int) -> tuple[Buffer, Buffer, Stream, Stream, list[Event]]:
    host = pool(machine, "host.k", layers=layers, space="host")
    device = pool(machine, "device.k", layers=layers)
    loading, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    return host, device, loading, compute, [machine.event(f"done[{layer}]") for layer in range(layers)]
