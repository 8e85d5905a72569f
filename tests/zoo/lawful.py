"""Small programs for the laws, and what the laws say of one.

Owns: the plumbing. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import io
from collections.abc import Callable

from kernels.races.laws.book import breaches
from kernels.races.laws.breach import Breach
from kernels.races.laws.history import History, history_of, stored_history
from kernels.races.scheduler.plan import Plan
from kernels.races.search.replay import run_token, settled
from kernels.races.search.tokens import Token
from kernels.substrate.contract import Machine
from kernels.substrate.trace import MemoryTrace, Operation
from kernels.substrate.trace_columns import ColumnTrace
from kernels.substrate.trace_json import JsonLinesTrace

Program = Callable[[Machine], None]


def trace_of(program: Program) -> MemoryTrace:
    """The execution in host issue order."""
    plan = settled(Plan(program))
    return run_token(plan, Token(plan.hash)).trace


def broken(program: Program) -> list[Breach]:
    return breaches(history_of(trace_of(program)))


def laws_of(program: Program) -> list[str]:
    return [str(breach.law) for breach in broken(program)]


def through_a_file(trace: MemoryTrace, *, columns: bool) -> History:
    """The history of the same rows, written and read."""
    out = io.BytesIO()
    sink = ColumnTrace(out) if columns else JsonLinesTrace(out)
    for buffer in trace.buffers:
        sink.buffer(buffer)
    for row in trace.rows:
        if isinstance(row, Operation):
            sink.operation(row)
        else:
            sink.host(row)
    sink.finish()
    out.seek(0)
    history = stored_history(out)
    assert isinstance(history, History), history
    return history
