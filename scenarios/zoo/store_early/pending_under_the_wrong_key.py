"""B05: events of pending transfers are kept under the wrong key, so who looks for them finds another's, or none.

Owns: the specimen. Floor 4. Source: TensorRT-LLM PR 9056.

A block that was swapped out has an id and a slot; they differ. The offload notes its event under the id, the onboard
that overwrites the slot looks under the slot.
"""

from __future__ import annotations

from kernels.races.naming.codes import Code
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, host_pool, kernel, replies
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Block 5 lies in slot 0 and is offloaded; then another block is onboarded into slot 0."""
    device, host = Pool(machine, "device.kv"), host_pool(machine, "host.kv", 2)
    compute, offload, onboard = (machine.stream(name, device=0) for name in ("compute", "offload", "onboard"))
    computed = machine.event("computed")
    pending = {key: machine.event(f"pending[{key}]") for key in (0, 5)}
    block, slot = 5, 0
    kernel(compute, "write block", writes=[(device.at(slot), 1)])
    compute.record(computed)
    offload.wait(computed)
    copy(offload, device.at(slot), host.at(0), "offload block 5")
    offload.record(pending[block if switch == DEFECT else slot])
    onboard.wait(pending[slot])
    if switch == DEFECT:
        # The host copy that is onboarded is an old one: its own order is there, by another event.
        onboard.wait(computed)
    copy(onboard, host.at(1), device.at(slot), "onboard another block")
    kernel(offload, "serve block 5 from its host copy", reads=[host.at(0)], body=replies(1))


SPECIMEN = Specimen(
    name="pending_under_the_wrong_key",
    rows=("B05",),
    source="TensorRT-LLM PR 9056",
    race_class=RaceClass.STORE_EARLY,
    symptom="S1",
    missing="pending read of the block @offload -> overwrite of its slot @onboard",
    trigger="offload, onboard and partial-block copies together",
    expected=expected(Code.REUSE_BEFORE_COMPLETION, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
