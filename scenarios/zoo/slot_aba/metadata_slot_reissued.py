"""B16: a metadata slot is freed and given to another request while its old owner's write is outstanding.

Owns: the specimen. Floor 4. Source: SGLang issue 17259; the check: PR 17430; what the check got wrong: PR 27374 (B17).

Two prefill workers write into decode's slots. Request A is aborted, its slot goes to B, and A's row may still arrive.
The merged check compares the owner's room in the row before it is used: nobody gets a foreign token any more, but who
finds one is aborted, although its own row is on the way.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import ANOTHER_REPLY, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, WrongFix, expected

ROOM_A, ROOM_B = 1, 2


def build(machine: Machine, switch: str) -> None:
    """Both write one slot, over two NICs; B's token is read when B's own row has been sent."""
    rows = [host_pool(machine, f"prefill[{worker}].metadata") for worker in (0, 1)]
    slot = host_pool(machine, "decode.metadata")
    nics = [machine.stream(f"nic[{worker}]", device=0) for worker in (0, 1)]
    sent = [machine.event(f"sent[{worker}]") for worker in (0, 1)]
    cpu, filled, decode = machine.stream("cpu", device=0), machine.event("filled"), machine.stream("decode", device=0)

    def scheduler() -> HostProgram:
        for worker, room in enumerate((ROOM_A, ROOM_B)):
            yield from by_host(cpu, filled, rows[worker].at(0), room, f"row of room {room}")
        copy(nics[0], rows[0].at(0), slot.at(0), "write row of A")
        nics[0].record(sent[0])
        if switch == FIXED:
            # A's slot is free when A's last write is over, not when A was aborted.
            yield Until(sent[0])
        copy(nics[1], rows[1].at(0), slot.at(0), "write row of B")
        nics[1].record(sent[1])
        yield Until(sent[1])
        found = int(machine.landed(slot.at(0))[0, 0])
        if switch == "room_is_checked" and found != ROOM_B:
            raise AssertionError(f"B is aborted as corrupt, and nothing is wrong with it: {ANOTHER_REPLY}")
        kernel(decode, "B appends its first token", reads=[slot.at(0)], body=replies(ROOM_B))

    machine.spawn("scheduler", scheduler())


SPECIMEN = Specimen(
    name="metadata_slot_reissued",
    rows=("B16", "B17"),
    source="SGLang issue 17259, PR 17430",
    race_class=RaceClass.SLOT_ABA,
    symptom="S7",
    missing="old owner's last write to slot i @its NIC -> slot i handed to another request @decode",
    trigger="prefill/decode split under high concurrency",
    expected=expected(Code.MISSING_WAIT, stale=True, output=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "room_is_checked",
            "the check sees the foreign row and aborts a healthy request; nothing keeps the row from arriving",
            expected(Code.MISSING_WAIT, stale=True, output=True),
        ),
    ),
)

fixed, defect, room_is_checked = SPECIMEN.programs()
