"""Traces of executions without time: the same rows as every machine's, numbered by step instead of nanoseconds.

Owns: the rows. Does not own: judging them (detector). Floor 2b.
"""

from __future__ import annotations

from dataclasses import replace

from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.issue import IssuedOp
from kernels.races.scheduler.script import Node
from kernels.races.scheduler.steps import StreamStep
from kernels.substrate.trace import MemoryTrace, Operation


class Tracer:
    """An observer that keeps a trace. `operations`: ordinal -> row, also of operations that have not ended."""

    def __init__(self) -> None:
        self.trace = MemoryTrace()
        self.operations: dict[int, Operation] = {}
        self._clock = 0
        self._issued = 0

    def __repr__(self) -> str:
        return f"Tracer({self.trace})"

    def host_step(self, run: Execution, thread: int, node: Node) -> None:
        machine = run.plan.script.machine
        for buffer in machine.buffers[len(self.trace.buffers) :]:
            self.trace.buffer(buffer)
        self._clock += 1
        for step in node.host_rows:
            # What the thread issues next comes behind the step that let it go on.
            self.trace.host(replace(step, time_ns=self._clock, issued=self._issued))
        for op in node.issued:
            self._clock += 1
            self._issued = op.ordinal
            self.operations[op.ordinal] = self._operation(op, machine.streams[op.stream].name)

    def stream_step(self, run: Execution, step: StreamStep) -> None:
        self._clock += 1
        for action in step.actions:
            begun = self.operations[action.op.ordinal]
            if begun.start_ns < 0:
                begun.start_ns = self._clock
        for op in step.finished:
            operation = self.operations[op.ordinal]
            if operation.start_ns < 0:
                operation.start_ns = self._clock
            operation.end_ns = self._clock
            self.trace.operation(operation)

    def _operation(self, op: IssuedOp, stream: str) -> Operation:
        operation = Operation(op.ordinal, op.kind, stream, op.thread, op.label, self._clock)
        operation.layer, operation.accesses = op.layer, op.regions
        operation.site, operation.access_sites = op.site, op.access_sites
        operation.event, operation.generation = op.event, op.generation
        return operation
