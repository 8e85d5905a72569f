"""B09: a preempted request's block is given away while its store is pending.

Owns: the specimen. Floor 4. Source: vLLM PR 29870.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Request A is preempted; its block, whose copy to the host is on its way, goes to request B."""
    device, host = Pool(machine, "device.kv"), host_pool(machine, "host.kv")
    compute, store = machine.stream("compute", device=0), machine.stream("store", device=0)
    computed, stored = machine.event("computed"), machine.event("stored")

    def scheduler() -> HostProgram:
        mark = Marker(machine)
        mark.claim("A", device.at(0))
        kernel(compute, "prefill A", writes=[(device.at(0), 1)])
        compute.record(computed)
        store.wait(computed)
        copy(store, device.at(0), host.at(0), "store A")
        store.record(stored)
        if switch == FIXED:
            # The flush: stores of whoever is preempted are over before the block is anybody's.
            yield Until(stored)
        mark.free("A", device.at(0))
        mark.claim("B", device.at(0))
        kernel(compute, "prefill B", writes=[(device.at(0), 2)])
        yield Until(stored)
        kernel(compute, "A comes back from the host", reads=[host.at(0)], body=replies(1))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="preempted_while_stored",
    rows=("B09",),
    source="vLLM PR 29870",
    race_class=RaceClass.FREE_IN_FLIGHT,
    symptom="S7",
    missing="D2H read of the block @store -> block overwritten by its new owner @compute",
    trigger="preemption with offload on",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
