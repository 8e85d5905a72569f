"""B41: a batch load allocates its targets, fails half way, and returns the unfilled ones as hits.

Owns: the specimen. Floor 4. Source: LMCache issue 3022 (open).

The failure is injected: the read of the second chunk brings nothing, in every variant.
"""

from __future__ import annotations

import numpy as np

from kernels.races.laws.breach import LawName
from kernels.races.laws.injection import arrived
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Two chunks are read from files into a staging pool that has room for one."""
    files, staging = Pool(machine, "files", 2, space="disk"), host_pool(machine, "staging", 2)
    disk, compute = machine.stream("disk", device=0), machine.stream("compute", device=0)
    read = machine.event("read")
    mark = Marker(machine)

    def engine() -> HostProgram:
        kernel(disk, "stored earlier", writes=[(files.at(0, 1), np.array([1, 2]))])
        kernel(disk, "leftovers of other requests", writes=[(staging.at(0, 1), 9)])
        labels = [f"read_file[{chunk}]" for chunk in (0, 1)]
        for chunk, label in enumerate(labels):
            copy(disk, files.at(chunk), staging.at(chunk), label)
        disk.record(read)
        yield Until(read)
        hits = [chunk for chunk, label in enumerate(labels) if arrived(machine, label) or switch == DEFECT]
        for chunk in hits:
            mark.loaded(labels[chunk])
            kernel(compute, f"use chunk {chunk}", reads=[staging.at(chunk)], body=replies(chunk + 1))
        for chunk in {0, 1} - {*hits}:
            kernel(compute, f"recompute chunk {chunk}", writes=[(staging.at(chunk), chunk + 1)])

    machine.spawn("engine", engine())


SPECIMEN = Specimen(
    name="unfilled_returned_as_hits",
    rows=("B41",),
    source="LMCache issue 3022",
    race_class=RaceClass.FAIL_AS_DONE,
    symptom="S1",
    missing="read_file is done -> its object is returned as loaded",
    trigger="the staging pool is exhausted",
    expected=expected(LawName.FAILURES, stale=True, output=True),
    build=build,
    fails="read_file[1]",
)

fixed, defect = SPECIMEN.programs()
