"""A ring of event sets cut down to one, where a thread of its own issues the loads.

    python run.py race --program scenarios/fixes/ring_of_one.py:records_first       CLEAN: one set is enough
    python run.py race --program scenarios/fixes/ring_of_one.py                     RACE: the wait meets an old record
    python run.py race --program scenarios/fixes/ring_of_one.py:late_three_sets     RACE: three sets do not help either

Owns: the programs. Does not judge. Floor 4. Source: facts/sglang.md section 1 (LayerDoneCounter, three sets); engines
whose loads are issued by a thread of their own; facts/concurrency.md section 8 (a re-recorded slot moves later waits).

A wait is bound to the record that is current when the wait is issued. So depth does not decide: where a load's records
are issued before the waits of its forward, one set will do. Where the loader says "go" before it has recorded, a wait
finds the previous load's record (one set) or none (a fresh set), and holds nothing up.
"""

from __future__ import annotations

import numpy as np

from kernels.substrate.contract import HostProgram, Machine, PageIds, Park, Region, Sleep, Until

LAYERS = 2
LOADS = 2


def program(machine: Machine) -> None:
    """One set; the loader says "go" before it has recorded."""
    _load_and_read(machine, sets=1, is_late=True)


def records_first(machine: Machine) -> None:
    """One set; the loader says "go" when it has recorded."""
    _load_and_read(machine, sets=1, is_late=False)


def late_three_sets(machine: Machine) -> None:
    """Three sets; the loader says "go" before it has recorded."""
    _load_and_read(machine, sets=3, is_late=True)


def _load_and_read(machine: Machine, *, sets: int, is_late: bool) -> None:
    host = machine.buffer("host.kv", space="host", layer_count=LAYERS, page_count=LOADS, page_bytes=4_096)
    device = machine.buffer("device.kv", space="device:0", layer_count=LAYERS, page_count=LOADS, page_bytes=4_096)
    load, compute = machine.stream("load", device=0), machine.stream("compute", device=0)
    ring = [[machine.event(f"ring[{slot}].layer[{layer}]") for layer in range(LAYERS)] for slot in range(sets)]
    forward_done = machine.event("forward_done")

    def loader() -> HostProgram:
        for number in range(LOADS):
            yield Park()
            # The first load meets an idle loader. Later ones show the mistake: records that come when the scheduler has
            # been told already.
            says_go_early = is_late and number > 0
            if says_go_early:
                scheduling.wake()
                yield Sleep(1)
            for layer in range(LAYERS):
                load.record(ring[number % sets][layer])
            if not says_go_early:
                scheduling.wake()

    def scheduler() -> HostProgram:
        for number in range(LOADS):
            page = _one(number)
            for layer in range(LAYERS):
                source, target = Region(host, (layer,), page), Region(device, (layer,), page)
                load.copy(source, target, point="h2d.kv", label=f"load[layer {layer}]", layer=layer)
            loading.wake()
            yield Park()
            for layer in range(LAYERS):
                compute.wait(ring[number % sets][layer])
                read = [Region(device, (layer,), page)]
                compute.launch(
                    f"attention[layer {layer}]", duration_ns=10, read_ns=10, point="compute", reads=read, layer=layer
                )
            compute.record(forward_done)
            yield Until(forward_done)

    loading = machine.spawn("loader", loader())
    scheduling = machine.spawn("scheduler", scheduler())


def _one(page: int) -> PageIds:
    return np.array([page], dtype=np.int64)
