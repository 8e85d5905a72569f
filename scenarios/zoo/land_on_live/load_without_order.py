"""B06: a load into a block that was handed on has no order after the compute that still reads it.

Owns: the specimen. Floor 4. Source: vLLM issue 47282 (open), the mirror image of issue 45704.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """An earlier step still reads block 0; the scheduler has given it to a request that loads from the host."""
    device, host = Pool(machine, "device.kv"), host_pool(machine, "host.kv")
    compute, load, cpu = (machine.stream(name, device=0) for name in ("compute", "load", "cpu"))
    step, loaded, filled = (machine.event(name) for name in ("step", "loaded", "filled"))

    def scheduler() -> HostProgram:
        yield from by_host(cpu, filled, host.at(0), 2, "host copy of the later request")
        kernel(compute, "prefill", writes=[(device.at(0), 1)])
        kernel(compute, "attention of the earlier step", reads=[device.at(0)], body=replies(1))
        compute.record(step)
        if switch == FIXED:
            load.wait(step)
        copy(load, host.at(0), device.at(0), "load block")
        load.record(loaded)
        compute.wait(loaded)
        kernel(compute, "attention of the later request", reads=[device.at(0)], body=replies(2))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="load_without_order",
    rows=("B06",),
    source="vLLM issue 47282",
    race_class=RaceClass.LAND_ON_LIVE,
    symptom="S2",
    missing="earlier step's read of the block @compute -> H2D write into the reassigned block @load",
    trigger="high concurrency, little device memory, a large pinned pool",
    expected=expected(Code.MISSING_WAIT, Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
