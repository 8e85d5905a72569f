"""B12: a zero-copy view does not hold its owner's memory, which is recycled while the client still writes into it.

Owns: the specimen. Floor 4. Source: LMCache issue 3610 (seen as a crash in valkey-glide issue 6215).
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """A client thread receives into a region; the last reference goes, and the region goes to another get."""
    region, socket, other = host_pool(machine, "region"), host_pool(machine, "socket"), host_pool(machine, "socket2")
    client, second = machine.stream("client", device=0), machine.stream("client2", device=0)
    received, taken = machine.event("received"), machine.event("received2")

    def allocator() -> HostProgram:
        mark = Marker(machine)
        kernel(client, "bytes on the wire", writes=[(socket.at(0), 1)])
        kernel(second, "bytes on the second wire", writes=[(other.at(0), 2)])
        mark.claim("get 1", region.at(0))
        copy(client, socket.at(0), region.at(0), "receive 1")
        client.record(received)
        if switch == FIXED:
            # The view holds a reference, so the region is free only when the client has let go of it.
            yield Until(received)
        mark.free("get 1", region.at(0))
        mark.claim("get 2", region.at(0))
        copy(second, other.at(0), region.at(0), "receive 2")
        second.record(taken)
        yield Until(taken)
        kernel(second, "use of get 2", reads=[region.at(0)], body=replies(2))

    machine.spawn("allocator", allocator())


SPECIMEN = Specimen(
    name="view_without_reference",
    rows=("B12",),
    source="LMCache issue 3610",
    race_class=RaceClass.FREE_IN_FLIGHT,
    symptom="S12",
    missing="client's write into the view @client thread -> region recycled @allocator",
    trigger="many threads, TLS, cluster mode",
    expected=expected(Code.MISSING_WAIT, LawName.DRAIN, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
