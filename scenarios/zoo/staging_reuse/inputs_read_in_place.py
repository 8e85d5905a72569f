"""B15: an integrated GPU reads its inputs in place, and the wait that guards them hangs on a multi-GPU flag.

Owns: the specimen. Floor 4. Source: llama.cpp issue 28056, PR 28058.

No concurrency is needed: one long prompt in chunks is enough. What is read is another client's chat.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import by_host, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """One prompt in two chunks; index and mask of each are read by the kernel from host memory."""
    inputs, filled, done = host_pool(machine, "inputs"), machine.event("filled"), machine.event("done")
    cpu, gpu = machine.stream("cpu", device=0), machine.stream("gpu", device=0)
    is_multi_gpu = False

    def decode() -> HostProgram:
        for chunk in (1, 2):
            if chunk > 1 and (is_multi_gpu or switch == FIXED):
                yield Until(done)
            yield from by_host(cpu, filled, inputs.at(0), chunk, f"index and mask of chunk {chunk}")
            kernel(gpu, f"chunk {chunk}", reads=[inputs.at(0)], body=replies(chunk))
            gpu.record(done)

    machine.spawn("decode", decode())


SPECIMEN = Specimen(
    name="inputs_read_in_place",
    rows=("B15",),
    source="llama.cpp issue 28056, PR 28058",
    race_class=RaceClass.STAGING_REUSE,
    symptom="S7",
    missing="kernel reads index and mask of chunk k @GPU -> host fills those of k+1 @CPU",
    trigger="chunked prefill of a long prompt; no concurrency needed",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
