"""B25: a lease lapses during a slow read, and the object is recycled under the reader.

Owns: the specimen. Floor 4. Source: Mooncake issues 850, 4239. With twelve victims: scenarios/fixes/lease.py.

The fix of batched reads checks the lease behind the copy. That is noted as imperfect: the object may have been written
again, under a lease that is good.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, WrongFix, expected


def build(machine: Machine, switch: str) -> None:
    """A client reads an object over the network; the store gives its memory to the next version of the same key."""
    store, client = Pool(machine, "store.object"), host_pool(machine, "client.copy")
    network, writer, reader = (machine.stream(name, device=0) for name in ("network", "store", "client"))
    written, received = machine.event("written"), machine.event("received")

    def serve() -> HostProgram:
        mark = Marker(machine)
        mark.claim("lease 1", store.at(0))
        leased = [1]
        kernel(writer, "put", writes=[(store.at(0), 1)])
        writer.record(written)
        yield Until(written)
        copy(network, store.at(0), client.at(0), "get")
        network.record(received)
        if switch == FIXED:
            # A lease does not end before the transfers that rely on it.
            yield Until(received)
        leased.remove(1)
        mark.free("lease 1", store.at(0))
        leased.append(2)
        mark.claim("lease 2", store.at(0))
        kernel(writer, "put again", writes=[(store.at(0), 2)])
        yield Until(received)
        # The check asks whether the key has a lease, and it has one again.
        if switch != "checked_behind_the_copy" or leased:
            kernel(reader, "use of the object", reads=[client.at(0)], body=replies(1))

    machine.spawn("store", serve())


_STALE = expected(Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True, output=True)

SPECIMEN = Specimen(
    name="lease_lapses",
    rows=("B25",),
    source="Mooncake issues 850, 4239",
    race_class=RaceClass.PIN_GAP,
    symptom="S7",
    missing="end of the transfer @network -> end of the lease @store",
    trigger="slow network, huge objects, short lease",
    expected=_STALE,
    build=build,
    wrong_fixes=(
        WrongFix(
            "checked_behind_the_copy",
            "the key has a good lease again when it is checked, that of the next version",
            _STALE,
        ),
    ),
)

fixed, defect, checked_behind_the_copy = SPECIMEN.programs()
