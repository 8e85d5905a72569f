"""B34: large temporaries come from the pool that the collective's buffers lie in.

Owns: the specimen. Floor 4. Source: SGLang issue 33800, PR 34021 (open).

Two allocators hand out one address range. To the detector they are two buffers, and to it everything is in order: only
the addresses tell. So the program also keeps the bytes under one name, to show what happens to them.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected

ADDRESS, PAGE = 0x10_0000, 4_096


def build(machine: Machine, switch: str) -> None:
    """An all-reduce is in flight while the draft model takes a temporary."""
    pool = Pool(machine, "symmetric.memory", 2)
    buffer, temporary = Pool(machine, "allreduce.buffer"), Pool(machine, "draft.temporary")
    nccl, compute = machine.stream("nccl", device=0), machine.stream("compute", device=0)
    offset = 1 if switch == FIXED else 0
    mark = Marker(machine)
    mark.placed(buffer.buffer, ADDRESS)
    mark.placed(temporary.buffer, ADDRESS + offset * PAGE)
    mark.claim("all-reduce", buffer.at(0))
    kernel(nccl, "partial sums", writes=[(pool.at(0), 1)])
    mark.claim("draft", temporary.at(0))
    kernel(compute, "draft temporary", writes=[(pool.at(offset), 2)])
    kernel(nccl, "reduce", reads=[pool.at(0)], body=replies(1))
    mark.free("all-reduce", buffer.at(0))


SPECIMEN = Specimen(
    name="temporary_in_the_collective_pool",
    rows=("B34",),
    source="SGLang issue 33800, PR 34021",
    race_class=RaceClass.ALIAS,
    symptom="S2",
    missing="in-flight all-reduce buffer @NCCL -> temporary in the same bytes @compute",
    trigger="bursts of agent sessions, at one draft depth only",
    expected=expected(Code.MISSING_RECORD, LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
