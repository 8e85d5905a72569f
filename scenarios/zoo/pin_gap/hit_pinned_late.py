"""B23: a hit is looked up, and pinned later; another admission takes the block in between.

Owns: the specimen. Floor 4. Source: vLLM issue 37076, PR 37164 (open).
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Sleep
from scenarios.zoo.parts import Pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Block 0 is cached and free. In one loop of admissions A takes a block and B hits block 0."""
    device, forward = Pool(machine, "device.kv", 2), machine.stream("forward", device=0)
    mark = Marker(machine)

    def scheduler() -> HostProgram:
        kernel(forward, "an earlier request", writes=[(device.at(0), 1)])
        hit, free = 0, [0, 1]
        if switch == FIXED:
            # The look-up pins: the block leaves the free list at once.
            free.remove(hit)
        mine = free.pop(0)
        mark.claim("A", device.at(mine))
        yield Sleep(1)
        mark.acts("A")
        kernel(forward, "prefill A", writes=[(device.at(mine), 2)])
        mark.acts("B")
        kernel(forward, "attention B over its hit", reads=[device.at(hit)], body=replies(1))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="hit_pinned_late",
    rows=("B23",),
    source="vLLM issue 37076, PR 37164",
    race_class=RaceClass.PIN_GAP,
    symptom="S7",
    missing="pin of the hit block -> allocation by a later request of the same loop",
    trigger="eviction pressure and many waiting requests",
    expected=expected(LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
