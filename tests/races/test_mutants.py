"""Mutants of clean programs: what is gone is seen, and what is not seen is proved not to matter.

Owns: `mutants`, `judge_mutant`. Floor: tests. Source: ours; facts/sglang.md section 2 lists the edges.
"""

from __future__ import annotations

from kernels.hicache.variant import Variant
from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import program_hash
from kernels.races.search.killing import Fate, judge_mutant
from kernels.races.search.mutation import Break, Mutant, mutants, mutated
from kernels.races.search.replay import replay
from kernels.races.search.tokens import Token
from tests.races import programs
from tests.races.hicache_program import incident


def test_every_order_of_a_gated_program_is_broken_in_each_way() -> None:
    found = mutants(programs.gated(2))
    assert {(one.how, one.where, one.place) for one in found} == {
        (Break.DROP, "load", 2),
        (Break.SWAP, "load", 1),
        (Break.DROP, "load", 4),
        (Break.SWAP, "load", 3),
        (Break.DROP, "compute", 1),
        (Break.SWAP, "compute", 1),
        (Break.DROP, "compute", 3),
        (Break.SWAP, "compute", 3),
    }


def test_names_of_killed_mutants_follow_from_what_was_broken() -> None:
    program = programs.gated(2)
    verdicts = {(one.how, one.where, one.place): judge_mutant(program, one, 2_000) for one in mutants(program)}
    assert all(verdict.fate is Fate.KILLED and verdict.is_confirmed for verdict in verdicts.values())
    codes = {key: verdict.codes for key, verdict in verdicts.items()}
    assert codes[Break.DROP, "compute", 3] == (Code.MISSING_WAIT,)
    assert codes[Break.SWAP, "compute", 3] == (Code.LATE_WAIT,)
    assert codes[Break.DROP, "load", 4] == (Code.MISSING_RECORD,)
    assert codes[Break.SWAP, "load", 3] == (Code.EARLY_RECORD,)


def test_host_waits_are_skipped() -> None:
    (mutant,) = (one for one in mutants(programs.poll_for_ever) if one.how is Break.SKIP)
    assert "asks for done[0]" in mutant.what
    verdict = judge_mutant(programs.poll_for_ever, mutant, 2_000)
    assert verdict.fate is Fate.KILLED


def test_an_order_that_another_one_repeats_is_equivalent_by_exhaustion() -> None:
    def twice(layer: int) -> int:
        return layer

    program = programs.index_k(1, twice)
    unneeded = Mutant(Break.SWAP, "compute", 9, "nothing there", "done[0]")
    verdict = judge_mutant(program, unneeded, 2_000)
    assert verdict.fate is Fate.EQUIVALENT
    assert verdict.orders == 1


def test_mutant_changes_one_order_and_nothing_else() -> None:
    program = programs.gated(2)
    broken = mutated(program, Mutant(Break.DROP, "compute", 3, "", "done[1]"))
    trace = replay(broken, str(Token(program_hash(broken)))).trace
    assert sorted(row.label for row in trace.operations if row.stream == "compute") == [
        "read[layer 0]",
        "read[layer 1]",
        "wait done[0]",
    ]


def test_a_race_that_was_there_before_is_another_cause() -> None:
    """Layer 1 is ungated in the program itself: that its race is reported does not kill a mutant of layer 0."""
    program = programs.last_ungated(2)
    dropped = Mutant(Break.DROP, "compute", 1, "the wait of layer 0", "done[0]")
    assert judge_mutant(program, dropped, 100).fate is Fate.KILLED
    harmless = Mutant(Break.DROP, "compute", 9, "nothing there", "done[0]")
    verdict = judge_mutant(program, harmless, 100)
    assert verdict.fate is Fate.OTHER
    assert "read[layer 1] not after load load[layer 1]" in verdict.named


def test_no_mutant_of_the_real_cache_survives() -> None:
    program = incident(Variant())
    verdicts = [judge_mutant(program, one, 100) for one in mutants(program)]
    assert len(verdicts) >= 40
    assert {verdict.fate for verdict in verdicts} == {Fate.KILLED, Fate.EQUIVALENT}
    assert all(verdict.is_confirmed for verdict in verdicts if verdict.fate is Fate.KILLED)
    gate = "drop: forward.wait(prefill.r0.ring[0].layer[1])"
    dropped = [verdict for verdict in verdicts if verdict.what.startswith(gate)]
    assert [verdict.fate for verdict in dropped] == [Fate.KILLED, Fate.EQUIVALENT], "the second one is paid twice"
    assert (
        "indexer[layer 1] not after prefill.r0.load index_k[layer 1]; prefill.r0.ring[0].layer[1]" in dropped[0].named
    )
