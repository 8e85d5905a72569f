"""Python files that tests hand to the command line as programs.

Owns: their texts. Does not judge. Floor: tests.
"""

from __future__ import annotations

from pathlib import Path

_HEAD = """
import numpy as np
from kernels.substrate.contract import Query, Region, Sleep, Write

PAGE = np.array([0], dtype=np.int64)


def pools(machine):
    host = machine.buffer("host.kv", space="host", layer_count=1, page_count=1, page_bytes=4096)
    device = machine.buffer("device.kv", space="device:0", layer_count=1, page_count=1, page_bytes=4096)
    return Region(host, (0,), PAGE), Region(device, (0,), PAGE)


def streams(machine):
    return machine.stream("load", device=0), machine.stream("compute", device=0)
"""

LOAD_AND_READ = f"""{_HEAD}

def load_and_read(machine, waits):
    host, device = pools(machine)
    load, compute = streams(machine)
    done = machine.event("kv_loaded")
    load.copy(host, device, point="h2d.kv", label="kv load")
    load.record(done)
    if waits:
        compute.wait(done)
    compute.launch("attention", duration_ns=10, read_ns=10, point="compute", reads=[device])


def program(machine):
    load_and_read(machine, waits=False)


def fenced(machine):
    load_and_read(machine, waits=True)


def polled(machine):
    host, device = pools(machine)
    load, compute = streams(machine)
    done = machine.event("kv_loaded")

    def main():
        load.copy(host, device, point="h2d.kv", label="kv load")
        load.record(done)
        while not (yield Query(done)):
            yield Sleep(10)
        compute.launch("attention", duration_ns=10, read_ns=10, point="compute", reads=[device])

    machine.spawn("main", main())
"""

MISTAKES = """
import numpy as np
from kernels.substrate.contract import Region


def beyond(machine):
    pool = machine.buffer("pool", space="device:0", layer_count=1, page_count=1, page_bytes=8)
    machine.stream("s", device=0).launch(
        "read", duration_ns=1, point="compute", reads=[Region(pool, (0,), np.array([7]))]
    )


def beyond_in_a_thread(machine):
    def main():
        beyond(machine)
        yield None

    machine.spawn("main", main())


def misspelt(machine):
    machine.bufer("pool")


def of_two(machine, other):
    pass


def broken(machine):
    raise RuntimeError("boom")


def not_called(machine):
    machine.spawn("main", beyond_in_a_thread)


RUNS = []


def counts_its_runs(machine):
    RUNS.append(1)
    machine.stream("load", device=0).launch(f"run {len(RUNS)}", duration_ns=1, point="compute")


def idle(machine):
    machine.stream("load", device=0)
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
