"""B33: a scratch pool is sized by the greatest of three families' needs, so the families share its bytes.

Owns: the specimen. Floor 4. Source: the thread of vLLM PR 41834.

Never seen when requests come one by one: only a batch of prefill and decode has two families alive at a time.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """One mixed batch on one stream. The scratch of each family is a view at its own address."""
    scratch, forward = Pool(machine, "scratch", 2), machine.stream("forward", device=0)
    place = {"prefill": 0, "decode": 1 if switch == FIXED else 0}
    mark = Marker(machine)
    for number, family in enumerate(place, start=1):
        mark.claim(family, scratch.at(place[family]))
        mark.acts(family)
        kernel(forward, f"{family} writes scratch", writes=[(scratch.at(place[family]), number)])
    for number, family in enumerate(place, start=1):
        mark.acts(family)
        kernel(forward, f"{family} reads scratch", reads=[scratch.at(place[family])], body=replies(number))


SPECIMEN = Specimen(
    name="scratch_sized_by_max",
    rows=("B33",),
    source="the thread of vLLM PR 41834",
    race_class=RaceClass.ALIAS,
    symptom="S3",
    missing="kind: live ranges overlap in one scratch pool",
    trigger="prefill and decode in one batch, abort churn; never when serial",
    expected=expected(LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
