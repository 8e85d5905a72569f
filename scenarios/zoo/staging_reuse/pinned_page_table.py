"""B13: the page table of each step is staged in one pinned buffer, which the host fills again before it was read.

Owns: the specimen. Floor 4. Source: TensorRT-LLM PR 15546.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Two steps; the async copy of a table reads its pinned buffer when it runs, not when it is issued."""
    pinned = [host_pool(machine, f"pinned[{slot}]") for slot in (0, 1)]
    table = Pool(machine, "device.table")
    cpu, execution, filled = machine.stream("cpu", device=0), machine.stream("exec", device=0), machine.event("filled")

    def executor() -> HostProgram:
        for step in (1, 2):
            staged = pinned[step - 1 if switch == FIXED else 0].at(0)
            yield from by_host(cpu, filled, staged, step, f"block offsets of step {step}")
            copy(execution, staged, table.at(0), f"upload table {step}")
            kernel(execution, f"attention of step {step}", reads=[table.at(0)], body=replies(step))

    machine.spawn("executor", executor())


SPECIMEN = Specimen(
    name="pinned_page_table",
    rows=("B13",),
    source="TensorRT-LLM PR 15546",
    race_class=RaceClass.STAGING_REUSE,
    symptom="S12",
    missing="H2D read of the block-offset table of step N @exec -> host rewrite for N+1 @CPU",
    trigger="overlap scheduler, and a host offload that stalls the copy",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
