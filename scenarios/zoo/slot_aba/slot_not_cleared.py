"""B17: a check takes 0 for "not yet written", and nobody clears a slot that is freed. Healthy requests are aborted.

Owns: the specimen. Floor 4. Source: SGLang PR 27374; what it mends is the check of PR 17430.

All orders are there. What the new owner polls before its own row is there is the row of the old one.
"""

from __future__ import annotations

from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import ANOTHER_REPLY, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected

NOT_YET, ROOM_A, ROOM_B = 0, 1, 2
CLEARED = 9
"""What a slot holds that was zeroed on free: the version of the zeros, which the check reads as "not yet written"."""


def build(machine: Machine, switch: str) -> None:
    """A has ended in order. B has its slot and polls it while B's row is under way."""
    row, slot = host_pool(machine, "prefill.metadata", 2), host_pool(machine, "decode.metadata")
    nic, cpu, decode = (machine.stream(name, device=0) for name in ("nic", "cpu", "decode"))
    filled, sent = machine.event("filled"), machine.event("sent")

    def scheduler() -> HostProgram:
        for page, room in enumerate((ROOM_A, ROOM_B)):
            yield from by_host(cpu, filled, row.at(page), room, f"row of room {room}")
        copy(nic, row.at(0), slot.at(0), "write row of A")
        nic.record(sent)
        yield Until(sent)
        if switch == FIXED:
            yield from by_host(cpu, filled, slot.at(0), CLEARED, "clear the slot")
        copy(nic, row.at(1), slot.at(0), "write row of B")
        nic.record(sent)
        polled = int(machine.landed(slot.at(0))[0, 0])
        if polled not in (NOT_YET, CLEARED, ROOM_B):
            raise AssertionError(f"B is aborted: the slot holds room {polled}: {ANOTHER_REPLY}")
        yield Until(sent)
        kernel(decode, "B appends its first token", reads=[slot.at(0)], body=replies(ROOM_B))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="slot_not_cleared",
    rows=("B17",),
    source="SGLang PR 27374",
    race_class=RaceClass.SLOT_ABA,
    symptom="S14",
    missing="slot cleared @free -> first poll of its new owner @decode",
    trigger="slow transport (TCP), 32 and more in parallel; RDMA is too quick to show it",
    expected=expected(output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
