"""B07: a retrieve writes its whole chunk, and so also the prefix block that another request reads at that time.

Owns: the specimen. Floor 4. Source: LMCache PRs 2671, 2706, vLLM PR 35831.

A chunk has two blocks here; the engine holds the first one already. With chunks of one block nothing of this can be
seen, which is why the first test missed it. That the staging buffer holds something else for the part that was not
asked for is our reading; the threads say only that the write must not happen. A wait does not mend it: `race` finds
that the edge which it names is NOT A FIX.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Request 1 decodes on block 0; request 2 shares it and retrieves block 1."""
    staging, device = Pool(machine, "staging.kv", 2), Pool(machine, "device.kv", 2)
    engine, cache = machine.stream("engine", device=0), machine.stream("cache", device=0)
    arrived_, scheduled = machine.event("retrieved"), machine.event("scheduled")
    mark = Marker(machine)
    mark.claim("prefix", device.at(0), shared=True)
    mark.claim("request 2", device.at(1))
    kernel(engine, "prefix", writes=[(device.at(0), 1)])
    engine.record(scheduled)
    cache.wait(scheduled)
    kernel(cache, "fetch chunk", writes=[(staging.at(0), 8), (staging.at(1), 2)])
    chunk = (1,) if switch == FIXED else (0, 1)
    mark.acts("request 2")
    copy(cache, staging.at(*chunk), device.at(*chunk), "retrieve chunk")
    cache.record(arrived_)
    mark.acts("request 1")
    kernel(engine, "decode request 1", reads=[device.at(0)], body=replies(1))
    mark.acts("request 2")
    engine.wait(arrived_)
    kernel(engine, "decode request 2", reads=[device.at(1)], body=replies(2))


SPECIMEN = Specimen(
    name="retrieve_writes_the_shared_prefix",
    rows=("B07",),
    source="LMCache PRs 2671, 2706",
    race_class=RaceClass.LAND_ON_LIVE,
    symptom="S15",
    missing="shared prefix block in use @engine -> retrieve must not write it @cache",
    trigger="chunk larger than block, and several requests at a time",
    expected=expected(Code.LATE_WAIT, LawName.OWNERS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
