"""B10: the store of a finished request is submitted one step late, when its block is somebody else's.

Owns: the specimen. Floor 4. Source: vLLM PR 48596.

Every access is ordered: the store waits for compute, as it should. It is the wrong content that it stores, in order.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """A finishes; its block is reused in the step in which its store is submitted."""
    device, host = Pool(machine, "device.kv"), host_pool(machine, "host.kv")
    compute, store = machine.stream("compute", device=0), machine.stream("store", device=0)
    step, stored = machine.event("step"), machine.event("stored")

    def submit(mark: Marker) -> HostProgram:
        compute.record(step)
        store.wait(step)
        mark.acts("A")
        copy(store, device.at(0), host.at(0), "store A")
        mark.acts("")
        store.record(stored)
        yield Until(stored)

    def scheduler() -> HostProgram:
        mark = Marker(machine)
        mark.claim("A", device.at(0))
        kernel(compute, "decode A, its last token", writes=[(device.at(0), 1)])
        if switch == FIXED:
            yield from submit(mark)
        mark.free("A", device.at(0))
        mark.claim("B", device.at(0))
        kernel(compute, "prefill B", writes=[(device.at(0), 2)])
        if switch == DEFECT:
            yield from submit(mark)
        kernel(compute, "A's next turn, from the host", reads=[host.at(0)], body=replies(1))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="deferred_store",
    rows=("B10",),
    source="vLLM PR 48596",
    race_class=RaceClass.FREE_IN_FLIGHT,
    symptom="S7",
    missing="deferred store submitted, and read @store -> block reallocated @scheduler",
    trigger="a request ends and its block is reused at once",
    expected=expected(LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
