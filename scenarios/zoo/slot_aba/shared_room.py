"""B18: parallel samples of one request share one room id; the second takes the place of the first, who waits for ever.

Owns: the specimen. Floor 4. Source: SGLang issue 40125, PRs 26486, 40297.

It is no order: the id is not unique among those who are alive.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Park, Sleep
from scenarios.zoo.parts import host_pool
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected

SAMPLES = ("sample 0", "sample 1")


def build(machine: Machine, switch: str) -> None:
    """Two samples register under a room; the transfer of a room wakes whoever is registered there."""
    rooms = host_pool(machine, "rooms", 8)
    waiting: dict[int, str] = {}
    mark = Marker(machine, "bootstrap.marks")

    def room_of(number: int) -> int:
        return number if switch == FIXED else 0

    def sample(number: int) -> HostProgram:
        own = Marker(machine, f"marks[{number}]")
        own.opened(SAMPLES[number])
        yield Park()
        own.closed(SAMPLES[number])

    def bootstrap() -> HostProgram:
        for number, name in enumerate(SAMPLES):
            mark.claim(name, rooms.at(room_of(number)))
            waiting[room_of(number)] = name
        yield Sleep(1)
        for name in waiting.values():
            threads[name].wake()

    threads = {name: machine.spawn(name, sample(number)) for number, name in enumerate(SAMPLES)}
    machine.spawn("bootstrap", bootstrap())


SPECIMEN = Specimen(
    name="shared_room",
    rows=("B18",),
    source="SGLang issue 40125, PRs 26486, 40297",
    race_class=RaceClass.SLOT_ABA,
    symptom="S13",
    missing="kind: the room id is not unique among its live owners",
    trigger="n > 1, or rooms that clients choose; n = 3 and 4 hang in two reports, worse under load",
    expected=expected(LawName.OWNERS, LawName.ENDINGS),
    build=build,
)

fixed, defect = SPECIMEN.programs()
