"""B30: the host's rows are narrower than the device's, so the scales at their end are cut off on backup.

Owns: the specimen. Floor 4. Source: SGLang PRs 37534, 13431, 40304; a downstream build's own thread.

A device row has 528 bytes here, 33 parts of 16: 32 of values and one of scales; a host row has room for 512. The same
builds also ran a batch before the copies that it should wait for had been issued: a wait for nothing.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.laws.rows import canaries, expects_canaries, row_pages
from kernels.races.naming.codes import Code
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, host_pool, kernel
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, WrongFix, expected

VALUES = tuple(f"value{part}" for part in range(32))
ROW = (*VALUES, "scale")
TOKENS = (0, 1)


def build(machine: Machine, switch: str) -> None:
    """Two rows go to the host and come back, after the device rows were used by others."""
    host_row = VALUES if switch == DEFECT else ROW
    device = Pool(machine, "device.kv", len(ROW) * len(TOKENS))
    host = host_pool(machine, "host.kv", len(host_row) * len(TOKENS))
    forward, copies = machine.stream("forward", device=0), machine.stream("copies", device=0)
    computed, loaded = machine.event("computed"), machine.event("loaded")
    mark = Marker(machine)
    mark.rows(device.buffer, *ROW)
    mark.rows(host.buffer, *host_row)
    # What a copy of rows can move is what both ends have room for.
    kept = [token * len(ROW) + part for token in TOKENS for part in range(len(host_row))]
    whole = device.at(*row_pages(TOKENS, len(ROW)).tolist())
    stored = host.at(*row_pages(TOKENS, len(host_row)).tolist())
    kernel(forward, "compute A", writes=[(whole, canaries(TOKENS, len(ROW)))])
    forward.record(computed)
    copies.wait(computed)
    copy(copies, device.at(*kept), stored, "back up rows")
    copies.record(computed)
    forward.wait(computed)
    kernel(forward, "compute B", writes=[(whole, 9_999)])
    forward.record(computed)
    copies.wait(computed)
    if switch == "batch_before_its_copies":
        # The batch goes first: its wait finds no record, and holds nothing up.
        forward.wait(loaded)
    copy(copies, stored, device.at(*kept), "load rows")
    copies.record(loaded)
    if switch != "batch_before_its_copies":
        forward.wait(loaded)
    kernel(forward, "attention A", reads=[whole], body=expects_canaries(TOKENS, len(ROW)))


SPECIMEN = Specimen(
    name="host_row_narrower",
    rows=("B30",),
    source="SGLang PRs 37534, 13431, 40304",
    race_class=RaceClass.GEOMETRY,
    symptom="S12",
    missing="kind: row width; the host row has no room for the scales",
    trigger="prefix reuse through the host",
    expected=expected(LawName.ROWS, stale=True),
    build=build,
    wrong_fixes=(
        WrongFix(
            "batch_before_its_copies",
            "the width is right, and the batch is still run before its layer copies are issued",
            expected(Code.UNARMED_WAIT, stale=True),
        ),
    ),
)

fixed, defect, batch_before_its_copies = SPECIMEN.programs()
