"""The catalogue: every program that searches are compared on, broken and ordered.

Owns: names, and which programs are in. Does not own: most of the programs (`transfers.py`, `threads.py`,
`scenarios/fixes`), judging. Source: the issue on races, "schedules to first bug on at least 8 programs".
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.races import threads, transfers
from harness.config import load_scenario
from harness.races.cache_program import CacheProgram, Shape
from kernels.races.scheduler.program import Program
from scenarios.fixes import lease, ring_of_one

SHRUNK = Shape(2, ("c4",))
"""What `race --scenario hicache_bf16` shrinks the incident to."""


@dataclass(frozen=True, slots=True)
class Case:
    """One fault, and the twin without it. fault: in one clause."""

    name: str
    fault: str
    broken: Program
    ordered: Program


def cases() -> tuple[Case, ...]:
    """All of them, in the order of the tables."""
    made = (
        ("incident, shrunk", "index-K is read in front of its wait (the cache itself)", _cache),
        ("20 copies, a reader", "no read waits", transfers.copies_and_reader),
        ("last layer of 20", "only the last read does not wait", transfers.last_layer),
        ("late wait", "each wait stands behind its read", transfers.late_wait),
        ("early record", "each record stands in front of its copy", transfers.early_record),
        ("reuse", "a page gets its next owner while its backup reads it", transfers.reuse),
        ("long chain", "a read behind 30 ordered exchanges does not wait for one copy", transfers.long_chain),
        ("hand-off", "decode waits for the metadata, not for the pages", transfers.handoff),
        ("ring of one", "records come after the scheduler was told to go", _ring),
        ("lease of 12", "blocks are reused when a lease lapses, not when the read ends", _lease),
        ("lost update", "two host threads look, and then write", threads.lost_update),
        ("two orders", "a companion's arrival is taken for the main page's", threads.two_orders),
    )
    return tuple(Case(name, fault, make(is_ordered=False), make(is_ordered=True)) for name, fault, make in made)


def _cache(*, is_ordered: bool) -> Program:
    return CacheProgram(load_scenario("hicache_bf16_gated" if is_ordered else "hicache_bf16"), SHRUNK)


def _ring(*, is_ordered: bool) -> Program:
    return ring_of_one.records_first if is_ordered else ring_of_one.program


def _lease(*, is_ordered: bool) -> Program:
    return lease.gated if is_ordered else lease.program
