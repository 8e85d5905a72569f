"""B29: a hybrid path restores KV and recurrent state and leaves the index behind; two suffixes share a compressed row.

Owns: the specimen. Floor 4. Source: SGLang issue 38031, PRs 38161, 38212, 39156 (open).

The index was saved; only the load forgets it. The second fault stacked on it: rows of the compressed index stand for
groups of tokens, and two continuations that part within a group write one row.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Region, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, WrongFix, expected

POOLS = ("kv", "state", "index")


def build(machine: Machine, switch: str) -> None:
    """A's page is evicted, replayed from the host, and continued by two suffixes."""
    device = {name: Pool(machine, f"device.{name}", 2) for name in POOLS}
    host = {name: host_pool(machine, f"host.{name}", 2) for name in POOLS}
    forward, copies = machine.stream("forward", device=0), machine.stream("copies", device=0)
    computed, done = machine.event("computed"), machine.event("done")
    restored = POOLS if switch != DEFECT else ("kv", "state")
    mark = Marker(machine)
    for tier in (device, host):
        mark.together(*(pool.buffer for pool in tier.values()))

    def all_of(page: int, version: int) -> list[tuple[Region, int]]:
        return [(device[name].at(page), version) for name in POOLS]

    def scheduler() -> HostProgram:
        for version in (1, 2):
            kernel(forward, f"compute session {version}", writes=all_of(0, version))
            forward.record(computed)
            copies.wait(computed)
            for name in POOLS if version == 1 else restored:
                ends = (device[name].at(0), host[name].at(0))
                source, target = ends if version == 1 else ends[::-1]
                copy(copies, source, target, f"{'back up' if version == 1 else 'load'} {name}")
            copies.record(done)
            yield Until(done)
        kernel(forward, "replay session 1", reads=[device[name].at(0) for name in POOLS], body=replies(1, 1, 1))
        rows = {"X": 1, "Y": 1 if switch == "groups_are_cut" else 0}
        for number, (suffix, row) in enumerate(rows.items(), start=3):
            mark.claim(suffix, device["index"].at(row))
            kernel(forward, f"suffix {suffix}", writes=[(device["index"].at(row), number)])
        kernel(forward, "decode X", reads=[device["index"].at(rows["X"])], body=replies(3))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="index_sidecar_not_restored",
    rows=("B29",),
    source="SGLang issue 38031, PRs 38161, 38212, 39156",
    race_class=RaceClass.PARTIAL_SET,
    symptom="S4",
    missing="kind: companion pool left behind; and one compressed row for two suffixes",
    trigger="evict, then replay from the host",
    expected=expected(LawName.COMPANIONS, stale=True, output=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "groups_are_cut",
            "the index is restored, and a group of tokens is still cut where two suffixes part",
            expected(LawName.OWNERS, stale=True, output=True),
        ),
    ),
)

fixed, defect, groups_are_cut = SPECIMEN.programs()
