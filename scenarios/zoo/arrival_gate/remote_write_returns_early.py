"""B02: a transfer engine's synchronous write returns before the remote memory shows the bytes.

Owns: the specimen. Floor 4. Source: SGLang PR 16951.

The metadata slot carries the first token. What "returned" says is that the write was posted; the decode side polls the
slot when it is told, and may read what was there before.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Park, Until
from scenarios.zoo.parts import by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, FIXED, RaceClass, Specimen, expected

FIRST_TOKEN = 7


def build(machine: Machine, switch: str) -> None:
    """Prefill posts a metadata row to decode, and tells it."""
    source, slot = host_pool(machine, "prefill.metadata"), host_pool(machine, "decode.metadata")
    nic, cpu, scheduler = (machine.stream(name, device=0) for name in ("nic", "prefill.cpu", "decode.scheduler"))
    filled, returned = machine.event("filled"), machine.event("returned")

    def prefill() -> HostProgram:
        yield from by_host(cpu, filled, source.at(0), FIRST_TOKEN, "first token")
        if switch == DEFECT:
            nic.record(returned)
        copy(nic, source.at(0), slot.at(0), "write metadata")
        if switch == FIXED:
            nic.record(returned)
        decoding.wake()

    def decode() -> HostProgram:
        yield Park()
        yield Until(returned)
        kernel(scheduler, "read first token", reads=[slot.at(0)], body=replies(FIRST_TOKEN))

    machine.spawn("prefill", prefill())
    decoding = machine.spawn("decode", decode())


SPECIMEN = Specimen(
    name="remote_write_returns_early",
    rows=("B02",),
    source="SGLang PR 16951",
    race_class=RaceClass.ARRIVAL_GATE,
    symptom="S8",
    missing="remote write of the metadata slot visible @NIC -> read of the slot @decode scheduler",
    trigger="prefill/decode split under load",
    expected=expected(Code.EARLY_RECORD, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
