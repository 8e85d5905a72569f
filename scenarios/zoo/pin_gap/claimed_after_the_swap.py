"""B27: a block is claimed after its swap, so the wrong list and the wrong counter are updated.

Owns: the specimen. Floor 4. Source: TensorRT-LLM PR 12834; a sibling without a lock is LMCache issue 1858.

One thread, two updates, in the wrong order. The swap exchanges which slot a block lies in; a claim that comes behind it
takes the slot out of the list that the block is no longer in.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Sleep
from scenarios.zoo.parts import Pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Block 0 is onboarded into the slot of a free block, then one more block is wanted."""
    device, compute = Pool(machine, "device.kv", 2), machine.stream("compute", device=0)
    mark = Marker(machine)

    def allocator() -> HostProgram:
        free, slot_of = [0, 1], {"A": 1, "victim": 0}
        if switch == FIXED:
            free.remove(slot_of["victim"])
        slot_of["A"], slot_of["victim"] = slot_of["victim"], slot_of["A"]
        if switch == DEFECT:
            free.remove(slot_of["victim"])
        mark.claim("A", device.at(slot_of["A"]))
        mark.acts("A")
        kernel(compute, "onboard A", writes=[(device.at(slot_of["A"]), 1)])
        yield Sleep(1)
        given = free.pop()
        mark.claim("B", device.at(given))
        mark.acts("B")
        kernel(compute, "prefill B", writes=[(device.at(given), 2)])
        mark.acts("A")
        kernel(compute, "attention A", reads=[device.at(slot_of["A"])], body=replies(1))

    machine.spawn("allocator", allocator())


SPECIMEN = Specimen(
    name="claimed_after_the_swap",
    rows=("B27",),
    source="TensorRT-LLM PR 12834",
    race_class=RaceClass.PIN_GAP,
    symptom="S13",
    missing="kind: claim and swap in the wrong order, in one thread",
    trigger="offload during allocation; the counters drift in a long run",
    expected=expected(LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
