"""B37: a loop ends early by what this rank has free, so ranks meet in different collectives, for ever.

Owns: the specimen. Floor 4. Source: SGLang issue 30760, PR 33029, issue 22607.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Park, Sleep
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected

FREE = (2, 1)
"""Pages that each rank has room for; they drift apart in a long run."""
ASKED = 2


def build(machine: Machine, switch: str) -> None:
    """Each rank prefetches page by page, with one all-reduce a page, and one broadcast at the end."""
    arrived_at: dict[str, list[int]] = {}
    marks = [Marker(machine, f"marks[{rank}]") for rank in (0, 1)]

    def meet(rank: int, step: int, collective: str) -> HostProgram:
        marks[rank].decided(rank, step, collective)
        there = arrived_at.setdefault(f"{collective} {step}", [])
        there.append(rank)
        if len(there) == len(FREE):
            threads[there[0]].wake()
        else:
            yield Park()

    def worker(rank: int) -> HostProgram:
        yield Sleep(1)
        marks[rank].opened(f"rank {rank}")
        for step in range(ASKED):
            if switch == DEFECT and step >= FREE[rank]:
                break
            # The fix: what is decided by one rank is agreed on first, so every rank makes every collective.
            yield from meet(rank, step, "all-reduce")
        yield from meet(rank, ASKED, "broadcast")
        marks[rank].closed(f"rank {rank}")

    threads = [machine.spawn(f"rank {rank}", worker(rank)) for rank in (0, 1)]


SPECIMEN = Specimen(
    name="early_break_before_a_collective",
    rows=("B37",),
    source="SGLang issue 30760, PR 33029, issue 22607",
    race_class=RaceClass.RANK_SPLIT,
    symptom="S13",
    missing="same number and order of collectives on all ranks",
    trigger="a long production run with storage prefetch",
    expected=expected(LawName.RANKS, LawName.ENDINGS),
    build=build,
)

fixed, defect = SPECIMEN.programs()
