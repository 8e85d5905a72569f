"""B14: persistent CPU tensors are refilled under async scheduling while their copies are pending.

Owns: the specimen. Floor 4. Source: vLLM PRs 25279, 31841, 48085.

The first fix waits for the copies of the tensors that it knows of; the next persistent tensor is outside its scope.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, WrongFix, expected

TENSORS = ("sampling", "mm_mask")


def build(machine: Machine, switch: str) -> None:
    """Two steps, two persistent tensors, each uploaded by an async copy."""
    pinned = {name: host_pool(machine, f"cpu.{name}") for name in TENSORS}
    device = {name: Pool(machine, f"gpu.{name}") for name in TENSORS}
    uploads, compute = machine.stream("copy", device=0), machine.stream("compute", device=0)
    cpu, filled, computed = machine.stream("cpu", device=0), machine.event("filled"), machine.event("computed")
    uploaded = {name: machine.event(f"uploaded[{name}]") for name in TENSORS}
    waited_for = {FIXED: TENSORS, "sampling_only": ("sampling",)}.get(switch, ())

    def engine() -> HostProgram:
        for step in (1, 2):
            for name in TENSORS:
                if step > 1 and name in waited_for:
                    yield Until(uploaded[name])
                yield from by_host(cpu, filled, pinned[name].at(0), step, f"fill {name} of step {step}")
                uploads.wait(computed)
                copy(uploads, pinned[name].at(0), device[name].at(0), f"upload {name}")
                uploads.record(uploaded[name])
                compute.wait(uploaded[name])
            reads = [device[name].at(0) for name in TENSORS]
            kernel(compute, f"step {step}", reads=reads, body=replies(step, step))
            compute.record(computed)

    machine.spawn("engine", engine())


SPECIMEN = Specimen(
    name="persistent_cpu_tensors",
    rows=("B14",),
    source="vLLM PRs 25279, 31841, 48085",
    race_class=RaceClass.STAGING_REUSE,
    symptom="S1",
    missing="async copy of the tensor of step N @copy -> CPU write for N+1",
    trigger="async scheduling under sustained load, speculative decoding",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "sampling_only",
            "the first fix: it waits for one tensor's copy, and the mask beside it is refilled as before",
            expected(Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
        ),
    ),
)

fixed, defect, sampling_only = SPECIMEN.programs()
