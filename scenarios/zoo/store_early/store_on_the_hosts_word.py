"""B04: a store is launched because the host says "confirmed", while the GPU still writes. Fixing it left B06 open.

Owns: the specimen. Floor 4. Source: vLLM issue 45704, PR 46278; its mirror image is vLLM issue 47282.

The host runs ahead of the GPU, so a confirmed step says nothing of its bytes. The merged fix makes the store wait for
compute; the load has the same hole the other way round, and that one is left.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, FIXED, RaceClass, Specimen, WrongFix, expected


def build(machine: Machine, switch: str) -> None:
    """Block 0 is computed and stored; block 1, still read by an earlier step, is given to a load."""
    device, host = Pool(machine, "device.kv", 2), host_pool(machine, "host.kv", 2)
    compute, store, load, cpu = (machine.stream(name, device=0) for name in ("compute", "store", "load", "cpu"))
    step, loaded, filled = (machine.event(name) for name in ("step", "loaded", "filled"))

    def engine() -> HostProgram:
        yield from by_host(cpu, filled, host.at(1), 2, "host copy of the later request")
        kernel(compute, "write blocks", writes=[(device.at(0, 1), 1)])
        kernel(compute, "attention of the earlier step", reads=[device.at(1)], body=replies(1))
        compute.record(step)
        if switch != DEFECT:
            store.wait(step)
        copy(store, device.at(0), host.at(0), "store block 0")
        if switch == FIXED:
            load.wait(step)
        copy(load, host.at(1), device.at(1), "load block 1")
        load.record(loaded)
        compute.wait(loaded)
        kernel(compute, "attention of the later request", reads=[device.at(1)], body=replies(2))
        kernel(store, "block 0 served from the host", reads=[host.at(0)], body=replies(1))

    machine.spawn("engine", engine())


SPECIMEN = Specimen(
    name="store_on_the_hosts_word",
    rows=("B04", "B06"),
    source="vLLM issue 45704, PR 46278",
    race_class=RaceClass.STORE_EARLY,
    symptom="S1",
    missing="KV write @compute -> D2H read @store",
    trigger="the host runs ahead; 64 requests at a time",
    expected=expected(Code.MISSING_WAIT, Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "store_waits_only",
            "the merged fix: the store waits for compute, and the load into a block handed on does not (B06)",
            expected(Code.MISSING_WAIT, Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
        ),
    ),
)

fixed, defect, store_waits_only = SPECIMEN.programs()
