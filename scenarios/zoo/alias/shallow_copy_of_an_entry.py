"""B35: a trimmed cache entry is a shallow copy, so who continues it writes into the stored one.

Owns: the specimen. Floor 4. Source: vllm-mlx PR 385.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Two requests start from one stored entry; each continues its own trimmed copy."""
    pool, stream, mark = Pool(machine, "entries", 3), machine.stream("gpu", device=0), Marker(machine)
    stored = pool.at(0)
    mark.claim("stored entry", stored)
    kernel(stream, "store entry", writes=[(stored, 1)])
    for request in (1, 2):
        mine = pool.at(request if switch == FIXED else 0)
        mark.claim(f"request {request}", mine)
        if switch == FIXED:
            copy(stream, stored, mine, "copy entry")
        kernel(stream, f"request {request} starts", reads=[mine], body=replies(1))
        kernel(stream, f"request {request} continues", writes=[(mine, 10 + request)])


SPECIMEN = Specimen(
    name="shallow_copy_of_an_entry",
    rows=("B35",),
    source="vllm-mlx PR 385",
    race_class=RaceClass.ALIAS,
    symptom="S7",
    missing="kind: a copy shares what can be changed with the original",
    trigger="12 to 32 requests at a time",
    expected=expected(LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
