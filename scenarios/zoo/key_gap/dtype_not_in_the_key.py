"""B39: the storage key lacks the dtype (elsewhere the rank, or the tenant), so a restart finds bytes of another kind.

Owns: the specimen. Floor 4. Source: SGLang issue 33268, PRs 10969, 26747.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, kernel, replies
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected

TOKENS = "hash of the tokens"


def build(machine: Machine, switch: str) -> None:
    """Stored by a server that keeps KV as bf16, looked up by one that was started with fp8."""
    disk, device, stream = (
        Pool(machine, "disk", 2, space="disk"),
        Pool(machine, "device.kv"),
        machine.stream("io", device=0),
    )
    stored: dict[str, int] = {}
    mark = Marker(machine)
    for version, dtype in enumerate(("bf16", "fp8"), start=1):
        key = TOKENS if switch == DEFECT else f"{TOKENS}, {dtype}"
        mark.got(key, tokens=TOKENS, dtype=dtype)
        if key not in stored:
            stored[key] = len(stored)
            kernel(stream, f"compute as {dtype}", writes=[(disk.at(stored[key]), version)])
            mark.put(key, tokens=TOKENS, dtype=dtype)
        copy(stream, disk.at(stored[key]), device.at(0), "restore")
        kernel(stream, f"attention in {dtype}", reads=[device.at(0)], body=replies(version))


SPECIMEN = Specimen(
    name="dtype_not_in_the_key",
    rows=("B39",),
    source="SGLang issue 33268, PRs 10969, 26747",
    race_class=RaceClass.KEY_GAP,
    symptom="S9",
    missing="kind: the key lacks a discriminator (dtype, rank, namespace)",
    trigger="restart with another dtype; tensor parallel size above 1; several tenants",
    expected=expected(LawName.KEYS, stale=True, output=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
