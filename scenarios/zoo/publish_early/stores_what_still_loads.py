"""B20: of two connectors, one stores blocks whose remote load by the other has not finished, and serves them later.

Owns: the specimen. Floor 4. Source: vLLM issue 34526, PR 35092.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Until
from scenarios.zoo.parts import Pool, by_host, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """A block comes over the wire; the offload connector stores it; the prompt's second use is served from there."""
    remote, device, host = (
        host_pool(machine, "peer.kv"),
        Pool(machine, "device.kv"),
        host_pool(machine, "host.kv"),
    )
    nic, offload, cpu = (machine.stream(name, device=0) for name in ("nic", "offload", "cpu"))
    filled, received, stored = (machine.event(name) for name in ("filled", "received", "stored"))

    def engine() -> HostProgram:
        yield from by_host(cpu, filled, remote.at(0), 1, "the peer's block")
        copy(nic, remote.at(0), device.at(0), "remote load")
        nic.record(received)
        if switch == FIXED:
            offload.wait(received)
        copy(offload, device.at(0), host.at(0), "store")
        offload.record(stored)
        yield Until(stored)
        kernel(cpu, "second use of the prompt", reads=[host.at(0)], body=replies(1))

    machine.spawn("engine", engine())


SPECIMEN = Specimen(
    name="stores_what_still_loads",
    rows=("B20",),
    source="vLLM issue 34526, PR 35092",
    race_class=RaceClass.PUBLISH_EARLY,
    symptom="S1",
    missing="remote load of the block over @NIC -> store reads the block @offload",
    trigger="prefill/decode split together with offload",
    expected=expected(Code.MISSING_WAIT, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
