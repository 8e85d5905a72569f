"""B11: a block leaves the reuse tree when its send was handed to the sender, not when it was sent.

Owns: the specimen. Floor 4. Source: TensorRT-LLM issues 12542, 12540.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Park, Until
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """The executor hands a block to the sender thread, unpins it, and memory pressure gives it away."""
    device, peer = Pool(machine, "device.kv"), Pool(machine, "peer.kv", space="device:1")
    forward, wire, reader = (machine.stream(name, device=0) for name in ("forward", "sender", "peer"))
    computed, sent = machine.event("computed"), machine.event("sent")

    def executor() -> HostProgram:
        mark = Marker(machine)
        mark.claim("A", device.at(0))
        kernel(forward, "prefill A", writes=[(device.at(0), 1)])
        forward.record(computed)
        yield Until(computed)
        sending.wake()
        yield Park()
        mark.free("A", device.at(0))
        kernel(forward, "prefill B", writes=[(device.at(0), 2)])

    def sender() -> HostProgram:
        yield Park()
        copy(wire, device.at(0), peer.at(0), "send A")
        wire.record(sent)
        if switch == FIXED:
            yield Until(sent)
        executing.wake()
        yield Until(sent)
        kernel(reader, "decode A on the peer", reads=[peer.at(0)], body=replies(1))

    executing = machine.spawn("executor", executor())
    sending = machine.spawn("sender", sender())


SPECIMEN = Specimen(
    name="unpinned_before_sent",
    rows=("B11",),
    source="TensorRT-LLM issues 12542, 12540",
    race_class=RaceClass.FREE_IN_FLIGHT,
    symptom="S12",
    missing="async send read of the block @sender -> unpin and evict @executor",
    trigger="memory pressure in a long run with block reuse; after some 2,000 requests",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
