"""Broken programs of host threads and of queries, each with the twin that has its order.

Owns: the programs; `is_ordered` is the only difference between the two. Does not judge, and does not own transfers
between streams alone (`transfers.py`). Source: facts/concurrency.md sections 2 (lost update) and 3a (bugs of depth 2).
"""

from __future__ import annotations

from benchmarks.races.transfers import load, page_of, pool, read, write
from kernels.races.scheduler.program import Program
from kernels.substrate.contract import HostProgram, Machine, Park, Query, Sleep, Until

WORKERS = 2


def lost_update(*, is_ordered: bool) -> Program:
    """Two host threads look at a counter on the device and write one more; who looks too early loses the other's."""

    def program(machine: Machine) -> None:
        counter = page_of(pool(machine, "counter"))
        streams = [machine.stream(f"worker{index}", device=0) for index in range(WORKERS)]
        written = [machine.event(f"written[{index}]") for index in range(WORKERS)]
        finished: list[int] = []

        def worker(index: int) -> HostProgram:
            if is_ordered and index > 0:
                yield Park()
            seen = int(machine.landed(counter)[0, 0])
            yield Sleep(1)
            write(streams[index], counter, seen + 1, f"count of worker {index}")
            streams[index].record(written[index])
            yield Until(written[index])
            finished.append(index)
            if is_ordered and len(finished) < WORKERS:
                workers[index + 1].wake()
            if len(finished) == WORKERS:
                count = int(machine.landed(counter)[0, 0])
                assert count == WORKERS, f"the counter says {count} after {WORKERS} updates"

        workers = [machine.spawn(f"worker{index}", worker(index)) for index in range(WORKERS)]

    return program


def two_orders(*, is_ordered: bool) -> Program:
    """Fails only where two orders are unlucky at once: the main page late, and its companion already there.

    The companion's load waits for the first page, not for the main one. The host asks for the main page; where that is
    not there, it asks for the companion, and takes its arrival for the main page's.
    """

    def program(machine: Machine) -> None:
        host, device = pool(machine, "host.kv", pages=3, space="host"), pool(machine, "device.kv", pages=3)
        loading, sidecar, compute = (machine.stream(name, device=0) for name in ("load", "sidecar", "compute"))
        first, main_there, sidecar_there = (machine.event(name) for name in ("first", "main", "sidecar"))

        def main() -> HostProgram:
            load(loading, page_of(host, page=0), page_of(device, page=0), "first page")
            loading.record(first)
            load(loading, page_of(host, page=1), page_of(device, page=1), "main page")
            loading.record(main_there)
            sidecar.wait(first)
            load(sidecar, page_of(host, page=2), page_of(device, page=2), "companion")
            sidecar.record(sidecar_there)
            is_there = (yield Query(main_there)) or ((yield Query(sidecar_there)) and not is_ordered)
            if not is_there:
                compute.wait(main_there)
            read(compute, page_of(device, page=1), "main page")

        machine.spawn("main", main())

    return program
