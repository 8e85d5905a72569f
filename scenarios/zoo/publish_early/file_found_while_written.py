"""B21: the key of a file is found while the file is still being written.

Owns: the specimen. Floor 4. Source: LMCache issue 207.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Park, Until
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """A writer thread stores a prompt; the same prompt is sent again at once."""
    host, disk = host_pool(machine, "host.kv"), Pool(machine, "file", space="disk")
    cpu, writing, reading = (machine.stream(name, device=0) for name in ("cpu", "disk.write", "disk.read"))
    filled, written = machine.event("filled"), machine.event("written")

    def writer() -> HostProgram:
        yield from by_host(cpu, filled, host.at(0), 1, "chunk")
        copy(writing, host.at(0), disk.at(0), "write file")
        writing.record(written)
        if switch == FIXED:
            yield Until(written)
        looking_up.wake()

    def reader() -> HostProgram:
        yield Park()
        kernel(reading, "read file", reads=[disk.at(0)], body=replies(1))

    machine.spawn("writer", writer())
    looking_up = machine.spawn("reader", reader())


SPECIMEN = Specimen(
    name="file_found_while_written",
    rows=("B21",),
    source="LMCache issue 207",
    race_class=RaceClass.PUBLISH_EARLY,
    symptom="S1",
    missing="file complete @writer thread -> lookup says yes @reader",
    trigger="the same long prompt twice in quick succession",
    expected=expected(Code.MISSING_WAIT, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
