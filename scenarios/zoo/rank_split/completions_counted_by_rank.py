"""B38: each pipeline stage counts the completions that it has seen; they differ, and so do the stages' trees.

Owns: the specimen. Floor 4. Source: SGLang PRs 27010, 29258.

The host thread of each stage asks whether its own backup is over, and evicts accordingly. The fix: the first stage
counts, the others consume the same number.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Query, Until
from scenarios.zoo.parts import Pool, copy, host_pool
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Two stages back up a page each; a stage whose backup is over frees it in this step, the other keeps it."""
    device, host = Pool(machine, "device.kv", 2), host_pool(machine, "host.kv", 2)
    backups = [machine.stream(f"backup[{stage}]", device=0) for stage in (0, 1)]
    saved = [machine.event(f"saved[{stage}]") for stage in (0, 1)]
    marks = [Marker(machine, f"marks[{stage}]") for stage in (0, 1)]

    def scheduler() -> HostProgram:
        is_over = [False, False]
        for stage in (0, 1):
            copy(backups[stage], device.at(stage), host.at(stage), f"back up[stage {stage}]")
            backups[stage].record(saved[stage])
            is_over[stage] = bool((yield Query(saved[stage])))
        if switch == FIXED:
            if is_over[0]:
                yield Until(saved[1])
            is_over[1] = is_over[0]
        said = [f"completions {int(over)}" for over in is_over]
        for stage in (0, 1):
            marks[stage].decided(stage, 0, said[stage])
        assert said[0] == said[1], f"the stages' trees differ: {said}"

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="completions_counted_by_rank",
    rows=("B38",),
    source="SGLang PRs 27010, 29258",
    race_class=RaceClass.RANK_SPLIT,
    symptom="S12",
    missing="the first stage's count of completions -> the same count consumed by the others",
    trigger="pipeline stages, a host pool of fixed size, a storage tier",
    expected=expected(LawName.RANKS),
    build=build,
)

fixed, defect = SPECIMEN.programs()
