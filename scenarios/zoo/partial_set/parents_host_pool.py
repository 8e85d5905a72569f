"""B28: a subclass matches its parent's host pool, so index keys are neither saved nor restored.

Owns: the specimen. Floor 4. Source: SGLang issue 17085.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected

POOLS = ("kv", "index_k")


def build(machine: Machine, switch: str) -> None:
    """A page goes to the host and comes back, after another session has had it."""
    device = {name: Pool(machine, f"device.{name}") for name in POOLS}
    host = {name: host_pool(machine, f"host.{name}") for name in POOLS}
    forward, backup, load = (machine.stream(name, device=0) for name in ("forward", "backup", "load"))
    computed, saved, loaded = (machine.event(name) for name in ("computed", "saved", "loaded"))
    moved = POOLS if switch == FIXED else ("kv",)
    mark = Marker(machine)
    mark.together(*(pool.buffer for pool in device.values()))
    mark.together(*(pool.buffer for pool in host.values()))

    def scheduler() -> HostProgram:
        kernel(forward, "compute A", writes=[(device[name].at(0), 1) for name in POOLS])
        forward.record(computed)
        backup.wait(computed)
        for name in moved:
            copy(backup, device[name].at(0), host[name].at(0), f"back up {name}")
        backup.record(saved)
        yield Until(saved)
        kernel(forward, "compute B", writes=[(device[name].at(0), 2) for name in POOLS])
        forward.record(computed)
        yield Until(computed)
        for name in moved:
            copy(load, host[name].at(0), device[name].at(0), f"load {name}")
        load.record(loaded)
        forward.wait(loaded)
        kernel(forward, "select and attend A", reads=[device[name].at(0) for name in POOLS], body=replies(1, 1))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="parents_host_pool",
    rows=("B28",),
    source="SGLang issue 17085",
    race_class=RaceClass.PARTIAL_SET,
    symptom="S9",
    missing="kind: the page's companion pool, index keys, is not moved with it",
    trigger="any evict and restore; no concurrency needed",
    expected=expected(LawName.COMPANIONS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
