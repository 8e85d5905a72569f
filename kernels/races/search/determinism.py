"""Determinism: whether a program does the same when it is started again.

Owns: the comparison of two fresh executions. Does not own: searching. Floor 2b.
Source: a search remembers what the host side did after which answers (`script.py`), so a program that follows from
anything else, a clock or a random number, would be judged by one of its runs only, and called clean for it.
"""

from __future__ import annotations

from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program, ProgramFailed, program_name
from kernels.races.search.replay import run_token, settled
from kernels.races.search.tokens import Token
from kernels.substrate.trace import DigestTrace, MemoryTrace, Operation


def check_repeats(program: Program, trace: MemoryTrace) -> None:
    """trace: of one execution in issue order. Raises: ProgramFailed where another one differs."""
    plan = settled(Plan(program))
    if _digest(run_token(plan, Token(plan.hash)).trace) != _digest(trace):
        why = "it does something else when it is started again"
        rule = "it must follow from its machine alone, without clocks, random numbers or kept state"
        raise ProgramFailed(program_name(program), f"{why}; {rule}")


def _digest(trace: MemoryTrace) -> str:
    digest = DigestTrace()
    for row in trace.rows:
        if isinstance(row, Operation):
            digest.operation(row)
        else:
            digest.host(row)
    return digest.hexdigest()
