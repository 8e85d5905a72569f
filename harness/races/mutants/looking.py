"""Looking at all mutants of a target: first whether it is clean as it is, then one mutant after the other.

Owns: what is looked at for which target; the refusal of a target that is not clean. Does not own: verdicts. Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.races.mutants.catalogue import MUTANTS
from harness.races.mutants.judging import BUDGET, judge, unclean_scene
from harness.races.mutants.kill_table import KillTable
from harness.races.workload import Target
from kernels.errors import KVRaceError
from kernels.races.search.explore import explore
from kernels.races.search.killing import judge_mutant
from kernels.races.search.mutation import mutants


class NotClean(KVRaceError):
    """A program that fails or is not exhausted as it is: that a mutant of it fails would say nothing."""

    exit_code = 4

    def __init__(self, program: str, answer: str) -> None:
        self.program = program
        self.answer = answer
        super().__init__(
            f"{program} is not clean as it is ({answer}), so its mutants would say nothing; give a clean one, such as "
            "--scenario hicache_bf16_gated, or a larger --budget where it is bounded"
        )


def kill_table(target: Target, budget: int, watch: Callable[[int, int], None]) -> KillTable:
    """Judge every mutant of a target: of its operations, and of the cache's code where it is a scenario with a cache.

    Raises: NotClean.
    """
    code_mutants = MUTANTS if target.scenario is not None and target.scenario.cache.hicache else ()
    with target.blaming():
        plain = explore(target.program, "exhaustive", budget, mend_schedules=0)
        if plain.races or plain.failures or not plain.exhausted:
            raise NotClean(target.source, plain.answer)
        machine_mutants = mutants(target.program)
        total = len(machine_mutants) + len(code_mutants)
        machine = []
        for mutant in machine_mutants:
            machine.append(judge_mutant(target.program, mutant, budget))
            watch(len(machine), total)
    code = []
    if target.scenario is not None and code_mutants:
        unclean = unclean_scene(target.scenario)
        if unclean is not None:
            raise NotClean(f"the scene '{unclean.scene.name}' of {target.source}", unclean.result.answer)
        for code_mutant in code_mutants:
            code.append(judge(target.scenario, code_mutant, budget=min(budget, BUDGET)))
            watch(len(machine) + len(code), total)
    return KillTable(target.source, machine, code)
