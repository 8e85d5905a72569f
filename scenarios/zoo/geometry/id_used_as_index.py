"""B31: a block's id is used as its index in the pool. They are the same until the first offload swaps a block.

Owns: the specimen. Floor 4. Source: TensorRT-LLM PR 13124.
"""

from __future__ import annotations

from kernels.races.laws.rows import canaries, expects_canaries
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, host_pool, kernel
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Two blocks; block 0 was swapped out and came back into another slot. A draft model reads block 0."""
    pool, host = Pool(machine, "device.kv", 3), host_pool(machine, "host.kv")
    stream = machine.stream("exec", device=0)
    index_of = {0: 0, 1: 1}
    kernel(stream, "compute blocks", writes=[(pool.at(0, 1), canaries((0, 1), 1))])
    copy(stream, pool.at(0), host.at(0), "offload block 0")
    index_of[0] = 2
    copy(stream, host.at(0), pool.at(2), "onboard block 0")
    index_of[7] = 0
    kernel(stream, "compute block 7", writes=[(pool.at(0), canaries((7,), 1))])
    block = 0
    at = block if switch == DEFECT else index_of[block]
    kernel(stream, "draft model, from the captured graph", reads=[pool.at(at)], body=expects_canaries((block,), 1))


SPECIMEN = Specimen(
    name="id_used_as_index",
    rows=("B31",),
    source="TensorRT-LLM PR 13124",
    race_class=RaceClass.GEOMETRY,
    symptom="S12",
    missing="kind: identity; a block's id is not its address",
    trigger="host offload with a draft model and graphs; no concurrency needed",
    expected=expected(stale=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
