"""B36: a slot is donated to the tree while an alias in the pipeline can still write it.

Owns: the specimen. Floor 4. Source: FreeToken PR 287 (closed).

Full-device syncs did not cure it, and cannot: the late write is ordered, it is only somebody else's by then.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Sleep, Until
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, WrongFix, expected


def build(machine: Machine, switch: str) -> None:
    """Request A ends and donates its slot; a stage of the pipeline writes A's next state into it; B hits the slot."""
    slots, host = Pool(machine, "slots", 2), machine.event("synced")
    forward, mark = machine.stream("forward", device=0), Marker(machine)

    def scheduler() -> HostProgram:
        mark.claim("A", slots.at(0))
        mark.acts("A")
        kernel(forward, "last step of A", writes=[(slots.at(0), 1)])
        if switch == "device_sync":
            forward.record(host)
            yield Until(host)
        mark.free("A", slots.at(0))
        donated = 1 if switch == FIXED else 0
        if switch == FIXED:
            # Donated is a copy that no alias reaches.
            copy(forward, slots.at(0), slots.at(1), "copy on donate")
        mark.claim("tree", slots.at(donated), shared=True)
        kernel(forward, "pipeline writes A's next state", writes=[(slots.at(0), 2)])
        yield Sleep(1)
        mark.acts("B")
        kernel(forward, "B starts from its hit", reads=[slots.at(donated)], body=replies(1))

    machine.spawn("scheduler", scheduler())


_LATE = expected(LawName.OWNERS, stale=True, output=True)

SPECIMEN = Specimen(
    name="donated_while_written",
    rows=("B36",),
    source="FreeToken PR 287",
    race_class=RaceClass.ALIAS,
    symptom="S11",
    missing="last write by the old alias -> donation visible",
    trigger="a hit batched together with decode; some 10 % of hit requests",
    expected=_LATE,
    build=build,
    wrong_fixes=(WrongFix("device_sync", "everything is ordered by it, and the alias writes all the same", _LATE),),
)

fixed, defect, device_sync = SPECIMEN.programs()
