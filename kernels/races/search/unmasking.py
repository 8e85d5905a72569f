"""Unmasking: the program without the wait that masks an access, so that a report can say what is behind the mask.

Owns: the trial. Does not own: finding masked accesses (`naming/masked.py`), breaking programs (`mutation.py`).
Floor 2b.
"""

from __future__ import annotations

from collections.abc import Iterable

from kernels.races.naming.masked import MaskedAccess
from kernels.races.naming.naming import name_all
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.mutation import Break, Mutant, mutated
from kernels.races.search.replay import run_token
from kernels.races.search.tokens import Token


def unmask(program: Program, masked: Iterable[MaskedAccess]) -> None:
    """Run the program once for each masked access, in issue order. Effect: fills in `without`."""
    for one in masked:
        dropped = Mutant(Break.DROP, one.wait.stream, one.wait_place, f"wait for {one.wait.event}", one.wait.event)
        plan = Plan(mutated(program, dropped))
        races = [
            finding
            for group in name_all(run_token(plan, Token(plan.hash)).detector)
            for finding in (group.shown, *group.others)
            if (finding.race.first.operation.label, finding.race.second.operation.label)
            == (one.write.label, one.access.label)
        ]
        one.without = f"RACE {races[0].code} on {races[0].mend.event}" if races else "another wait still orders it"
