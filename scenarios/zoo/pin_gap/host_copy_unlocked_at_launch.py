"""B24: the host copy is unlocked when its load is launched, so eviction may give it away while it is read.

Owns: the specimen. Floor 4. Source: SGLang PR 31427 (open).
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """A loads from host page 0; the page is evicted at once and takes B's backup."""
    device, host = Pool(machine, "device.kv", 2), host_pool(machine, "host.kv")
    load, backup, forward, cpu = (machine.stream(name, device=0) for name in ("load", "backup", "forward", "cpu"))
    filled, loaded, computed = (machine.event(name) for name in ("filled", "loaded", "computed"))

    def tree() -> HostProgram:
        mark = Marker(machine)
        yield from by_host(cpu, filled, host.at(0), 1, "A's host copy")
        kernel(forward, "prefill B", writes=[(device.at(1), 2)])
        forward.record(computed)
        mark.claim("A", host.at(0))
        copy(load, host.at(0), device.at(0), "load A")
        load.record(loaded)
        forward.wait(loaded)
        kernel(forward, "attention A", reads=[device.at(0)], body=replies(1))
        if switch == FIXED:
            # The lock is released when the load is acknowledged.
            yield Until(loaded)
        mark.free("A", host.at(0))
        mark.claim("B", host.at(0))
        backup.wait(computed)
        copy(backup, device.at(1), host.at(0), "back up B")

    machine.spawn("tree", tree())


SPECIMEN = Specimen(
    name="host_copy_unlocked_at_launch",
    rows=("B24",),
    source="SGLang PR 31427",
    race_class=RaceClass.PIN_GAP,
    symptom="S1",
    missing="H2D read of the host page @load -> host page evictable @tree",
    trigger="a small host pool",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
