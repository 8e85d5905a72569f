"""Mutants of clean programs: what is gone is seen, and what is not seen is proved not to matter.

Owns: `mutants`, `judge_mutants`. Floor: tests. Source: ours; facts/sglang.md section 2 lists the edges.
"""

from __future__ import annotations

from kernels.hicache.variant import Variant
from kernels.races.naming.codes import Code
from kernels.races.scheduler.program import program_hash
from kernels.races.search.killing import Fate, judge_mutants, kill_table
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
    verdicts = {(one.mutant.how, one.mutant.where, one.mutant.place): one for one in judge_mutants(programs.gated(2))}
    assert all(verdict.fate is Fate.KILLED and verdict.is_confirmed for verdict in verdicts.values())
    codes = {key: verdict.codes for key, verdict in verdicts.items()}
    assert codes[Break.DROP, "compute", 3] == (Code.MISSING_WAIT,)
    assert codes[Break.SWAP, "compute", 3] == (Code.LATE_WAIT,)
    assert codes[Break.DROP, "load", 4] == (Code.MISSING_RECORD,)
    assert codes[Break.SWAP, "load", 3] == (Code.EARLY_RECORD,)


def test_host_waits_are_skipped() -> None:
    (mutant,) = (one for one in mutants(programs.poll_for_ever) if one.how is Break.SKIP)
    assert "asks for done[0]" in mutant.what
    (verdict,) = judge_mutants(programs.poll_for_ever, chosen=[mutant])
    assert verdict.fate is Fate.KILLED


def test_an_order_that_another_one_repeats_is_equivalent_by_exhaustion() -> None:
    def twice(layer: int) -> int:
        return layer

    program = programs.index_k(1, twice)
    unneeded = Mutant(Break.SWAP, "compute", 9, "nothing there")
    (verdict,) = judge_mutants(program, chosen=[unneeded])
    assert verdict.fate is Fate.EQUIVALENT
    assert verdict.orders == 1


def test_mutant_changes_one_order_and_nothing_else() -> None:
    program = programs.gated(2)
    broken = mutated(program, Mutant(Break.DROP, "compute", 3, ""))
    trace = replay(broken, str(Token(program_hash(broken)))).trace
    assert sorted(row.label for row in trace.operations if row.stream == "compute") == [
        "read[layer 0]",
        "read[layer 1]",
        "wait done[0]",
    ]


def test_no_mutant_of_the_real_cache_survives() -> None:
    verdicts = judge_mutants(incident(Variant()), budget=100)
    fates = [verdict.fate for verdict in verdicts]
    assert len(verdicts) >= 40
    assert set(fates) == {Fate.KILLED, Fate.EQUIVALENT}
    assert all(verdict.is_confirmed for verdict in verdicts if verdict.fate is Fate.KILLED)
    gate = "forward.wait(prefill.r0.ring[0].layer[1])"
    dropped_gates = [
        verdict for verdict in verdicts if verdict.mutant.how is Break.DROP and verdict.mutant.what.startswith(gate)
    ]
    assert [verdict.fate for verdict in dropped_gates] == [Fate.KILLED, Fate.EQUIVALENT], "the second one is paid twice"
    assert any("ring[0].layer[1]) before" in mend for mend in dropped_gates[0].mends)
    assert (
        kill_table(verdicts).splitlines()[-1].startswith(f"{len(verdicts)} mutants: {fates.count(Fate.KILLED)} killed")
    )
