"""B03: a write-through copy-out overlaps the kernel that still writes, and the next forward overlaps the copy-out.

Owns: the specimen. Floor 4. Source: SGLang PR 20611 (closed; it collects six older issues).

Two edges are missing, one on either side of the copy. Putting in one leaves the other open.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, FIXED, RaceClass, Specimen, WrongFix, expected


def build(machine: Machine, switch: str) -> None:
    """A page is computed, copied out, reused at once, and its host copy is loaded again."""
    device, host = Pool(machine, "device.kv"), host_pool(machine, "host.kv")
    forward, write = machine.stream("forward", device=0), machine.stream("write", device=0)
    computed, saved = machine.event("computed"), machine.event("saved")
    kernel(forward, "compute request 1", writes=[(device.at(0), 1)])
    forward.record(computed)
    if switch != DEFECT:
        write.wait(computed)
    copy(write, device.at(0), host.at(0), "back up")
    write.record(saved)
    if switch == FIXED:
        forward.wait(saved)
    kernel(forward, "compute request 2", writes=[(device.at(0), 2)])
    kernel(write, "serve request 1 from its host copy", reads=[host.at(0)], body=replies(1))


SPECIMEN = Specimen(
    name="write_through_overlaps_forward",
    rows=("B03",),
    source="SGLang PR 20611",
    race_class=RaceClass.STORE_EARLY,
    symptom="S12",
    missing="KV write @forward -> D2H read @write; D2H end @write -> reuse write @forward",
    trigger="eviction pressure: a small memory fraction shows it in minutes",
    expected=expected(Code.MISSING_WAIT, Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "copy_waits_only",
            "the copy waits for the forward, and the next forward still does not wait for the copy",
            expected(Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
        ),
    ),
)

fixed, defect, copy_waits_only = SPECIMEN.programs()
