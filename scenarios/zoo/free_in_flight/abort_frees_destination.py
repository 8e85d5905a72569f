"""B08: decode aborts and frees its pages while prefill still writes them. The merged fix has holes of its own.

Owns: the specimen. Floor 4. Source: SGLang issue 24527, PRs 27372, 35049; the holes: PRs 37077, 38961.

Two senders (ranks) write one request's pages over two NICs. Upstream's fix holds the pages until an acknowledgement;
its follow-ups list what is left: one acknowledgement stands for the whole room, the target may be dropped before the
drain, and the source pages on the prefill side are not held at all.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.naming.codes import Code
from kernels.substrate.contract import HostProgram, Machine, Park, Until
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, WrongFix, expected


def build(machine: Machine, switch: str) -> None:
    """Request A is aborted in mid transfer. Its pages, on either side, go to request B."""
    source, target = Pool(machine, "prefill.kv", 2), Pool(machine, "decode.kv", 2, space="device:1")
    prefill, decode = machine.stream("prefill.forward", device=0), machine.stream("decode.forward", device=1)
    nics = [machine.stream(f"nic[{rank}]", device=0) for rank in (0, 1)]
    sent = [machine.event(f"sent[{rank}]") for rank in (0, 1)]
    computed = machine.event("computed")
    # What each way of aborting waits for, before the pages are free: here, and on the prefill side.
    here = {DEFECT: (), "target_dropped": (), "one_ack_a_room": sent[:1]}.get(switch, sent)
    there = {DEFECT: (), "target_dropped": sent, "one_ack_a_room": sent, "sources_not_held": ()}.get(switch, sent)

    prefill_marks, decode_marks = Marker(machine, "prefill.marks"), Marker(machine, "decode.marks")
    prefill_marks.claim("A", source.at(0, 1))
    decode_marks.claim("A", target.at(0, 1))

    def prefill_side() -> HostProgram:
        kernel(prefill, "prefill A", writes=[(source.at(0, 1), 1)])
        prefill.record(computed)
        for rank in (0, 1):
            nics[rank].wait(computed)
            copy(nics[rank], source.at(rank), target.at(rank), f"send[rank {rank}]")
            nics[rank].record(sent[rank])
        decoding.wake()
        for event in there:
            yield Until(event)
        prefill_marks.free("A", source.at(0, 1))
        kernel(prefill, "prefill C", writes=[(source.at(0, 1), 3)])

    def decode_side() -> HostProgram:
        yield Park()
        for event in here:
            yield Until(event)
        decode_marks.free("A", target.at(0, 1))
        kernel(decode, "decode B", writes=[(target.at(0, 1), 2)])
        kernel(decode, "attention B", reads=[target.at(0, 1)], body=replies(2))

    machine.spawn("prefill", prefill_side())
    decoding = machine.spawn("decode", decode_side())


SPECIMEN = Specimen(
    name="abort_frees_destination",
    rows=("B08",),
    source="SGLang issue 24527, PRs 27372, 35049",
    race_class=RaceClass.FREE_IN_FLIGHT,
    symptom="S7",
    missing="last RDMA write into the page @prefill NIC -> page to the free list @decode scheduler",
    trigger="client aborts in mid transfer, and a tight pool",
    expected=expected(Code.MISSING_WAIT, Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True, output=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "target_dropped",
            "whom to acknowledge to is forgotten before the drain, so decode does not wait",
            expected(Code.MISSING_WAIT, LawName.DRAIN, stale=True, output=True),
        ),
        WrongFix(
            "one_ack_a_room",
            "the first rank's acknowledgement frees what the second one still writes; only prefill knows better",
            expected(Code.WRONG_THREAD, LawName.DRAIN, stale=True, output=True),
        ),
        WrongFix(
            "sources_not_held",
            "the destination is held, and the source pages are reused while they are sent",
            expected(Code.REUSE_BEFORE_COMPLETION, LawName.DRAIN, stale=True),
        ),
    ),
)

fixed, defect, target_dropped, one_ack_a_room, sources_not_held = SPECIMEN.programs()
