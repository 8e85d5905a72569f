"""B26: abort while a remote load and a send are pending: freed at the first completion, or never if the peer is dead.

Owns: the specimen. Floor 4. Source: vLLM issue 46283, PRs 46289, 56089 (open).
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Park, Until
from scenarios.zoo.parts import Pool, copy, host_pool, kernel
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, WrongFix, expected


def build(machine: Machine, switch: str) -> None:
    """A block is received from one peer and passed on to another; its request is aborted meanwhile."""
    source, block = host_pool(machine, "peer.kv"), Pool(machine, "device.kv")
    sink = host_pool(machine, "peer2.kv")
    receive, send, compute = (machine.stream(name, device=0) for name in ("receive", "send", "compute"))
    received, sent = machine.event("received"), machine.event("sent")

    def engine() -> HostProgram:
        mark = Marker(machine)
        mark.opened("A")
        mark.claim("A", block.at(0))
        copy(receive, source.at(0), block.at(0), "receive A")
        receive.record(received)
        send.wait(received)
        copy(send, block.at(0), sink.at(0), "send A")
        send.record(sent)
        if switch == "waits_for_a_dead_peer":
            # The peer's acknowledgement never comes, and no deadline ends the wait.
            yield Park()
        yield Until(received)
        if switch == FIXED:
            yield Until(sent)
        mark.free("A", block.at(0))
        mark.closed("A")
        mark.claim("B", block.at(0))
        kernel(compute, "prefill B", writes=[(block.at(0), 2)])

    machine.spawn("engine", engine())


SPECIMEN = Specimen(
    name="freed_at_first_completion",
    rows=("B26",),
    source="vLLM issue 46283, PRs 46289, 56089",
    race_class=RaceClass.PIN_GAP,
    symptom="S13",
    missing="ends of both the receive and the send -> block to the free list; a deadline for a peer that died",
    trigger="abort on both sides, push mode",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "waits_for_a_dead_peer",
            "holding the block until the peer acknowledges leaks it when the peer is gone",
            expected(LawName.ENDINGS),
        ),
    ),
)

fixed, defect, waits_for_a_dead_peer = SPECIMEN.programs()
