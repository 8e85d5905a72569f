"""B19: full blocks can be found from the moment they are scheduled, which is before the forward that fills them.

Owns: the specimen. Floor 4. Source: vLLM PRs 37152, 38715 (closed).

Within one step the hit's kernel may run first (another adapter, another micro-batch): on one stream, in order, and
before anything was written.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Sleep
from scenarios.zoo.parts import Pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """A and B share a prefix and are scheduled in one step; B's kernels are launched first."""
    device, forward = Pool(machine, "device.kv"), machine.stream("forward", device=0)
    mark = Marker(machine)

    def prefill_a() -> None:
        kernel(forward, "prefill A", writes=[(device.at(0), 1)])

    def scheduler() -> HostProgram:
        mark.claim("A", device.at(0), shared=True)
        if switch == FIXED:
            # A block that was registered in this step is a miss; B finds it in the next one.
            prefill_a()
        mark.put("prefix", device.at(0), tokens="system prompt")
        yield Sleep(1)
        mark.got("prefix", tokens="system prompt")
        kernel(forward, "attention B over the prefix", reads=[device.at(0)], body=replies(1))
        if switch == DEFECT:
            prefill_a()

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="registered_at_scheduling",
    rows=("B19",),
    source="vLLM PRs 37152, 38715",
    race_class=RaceClass.PUBLISH_EARLY,
    symptom="S15",
    missing="KV write of the block @GPU -> hash lookup may return it @scheduler, in the same step",
    trigger="many requests with one prefix in one step; adapters that alternate",
    expected=expected(LawName.PUBLISHED, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
