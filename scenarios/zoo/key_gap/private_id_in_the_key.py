"""B40: the key of a tensor holds an id that each engine draws for itself, so the two sides never meet.

Owns: the specimen. Floor 4. Source: vLLM issue 42839 (closed).
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import HostProgram, Machine, Park, Sleep
from scenarios.zoo.specimen import FIXED, RaceClass, Specimen, expected


def build(machine: Machine, switch: str) -> None:
    """Prefill puts a tensor under its key; decode waits for the same tensor under its own."""
    waiting: dict[str, str] = {}
    request = "request 1"
    key = {side: request if switch == FIXED else f"{request}-{side}" for side in ("prefill", "decode")}
    prefill_marks, decode_marks = Marker(machine, "prefill.marks"), Marker(machine, "decode.marks")

    def decode() -> HostProgram:
        decode_marks.opened(request)
        waiting[key["decode"]] = request
        yield Park()
        decode_marks.closed(request)

    def prefill() -> HostProgram:
        yield Sleep(1)
        prefill_marks.put(key["prefill"], request=request)
        prefill_marks.got(key["decode"], request=request)
        if key["prefill"] in waiting or switch == FIXED:
            decoding.wake()

    decoding = machine.spawn("decode", decode())
    machine.spawn("prefill", prefill())


SPECIMEN = Specimen(
    name="private_id_in_the_key",
    rows=("B40",),
    source="vLLM issue 42839",
    race_class=RaceClass.KEY_GAP,
    symptom="S13",
    missing="kind: the key holds an id that is private to one side",
    trigger="every request; no load needed",
    expected=expected(LawName.KEYS, LawName.ENDINGS),
    build=build,
)

fixed, defect = SPECIMEN.programs()
