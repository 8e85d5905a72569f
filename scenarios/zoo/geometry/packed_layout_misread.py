"""B32: a packed layout is read as another one; with two KV heads both readings have the same shape.

Owns: the specimen. Floor 4. Source: LMCache issue 4463, PR 4467 (open).

The engine's row is key and value for each head in turn; the store takes it for all keys, then all values. Both are four
parts wide, so no check of shapes can tell.
"""

from __future__ import annotations

from kernels.races.laws.breach import LawName
from kernels.races.laws.marks import Marker
from kernels.races.laws.rows import canaries, expects_canaries, row_pages
from kernels.substrate.contract import Machine
from scenarios.zoo.parts import Pool, copy, host_pool, kernel
from scenarios.zoo.specimen import DEFECT, RaceClass, Specimen, expected

INTERLEAVED = ("key0", "value0", "key1", "value1")
PLANAR = ("key0", "key1", "value0", "value1")
TOKENS = (0, 1)


def build(machine: Machine, switch: str) -> None:
    """The rows go to the store, and come back into an engine that keeps them planar."""
    engine, store = Pool(machine, "engine.kv", 8), host_pool(machine, "store.kv", 8)
    stream, mark = machine.stream("copies", device=0), Marker(machine)
    mark.rows(engine.buffer, *INTERLEAVED)
    mark.rows(store.buffer, *PLANAR)
    rows = row_pages(TOKENS, 4).tolist()
    taken_for = PLANAR if switch == DEFECT else INTERLEAVED
    order = [token * 4 + taken_for.index(part) for token in TOKENS for part in PLANAR]
    kernel(stream, "compute", writes=[(engine.at(*rows), canaries(TOKENS, 4))])
    copy(stream, engine.at(*order), store.at(*rows), "store rows")
    kernel(stream, "other requests", writes=[(engine.at(*rows), 9_999)])
    back = [token * 4 + PLANAR.index(part) for token in TOKENS for part in INTERLEAVED]
    copy(stream, store.at(*back), engine.at(*rows), "restore rows")
    kernel(stream, "attention", reads=[engine.at(*rows)], body=expects_canaries(TOKENS, 4))


SPECIMEN = Specimen(
    name="packed_layout_misread",
    rows=("B32",),
    source="LMCache issue 4463, PR 4467",
    race_class=RaceClass.GEOMETRY,
    symptom="S9",
    missing="kind: layout; two readings of one shape",
    trigger="any offload hit with that engine version; no concurrency needed",
    expected=expected(LawName.ROWS, stale=True),
    build=build,
)

fixed, defect = SPECIMEN.programs()
