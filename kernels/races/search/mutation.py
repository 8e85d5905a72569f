"""Mutants: a program with one order removed or moved, without touching its text.

Owns: listing the orders of a program, and the machine that breaks one of them. Does not own: judging mutants
(`killing.py`). Floor 2b. Source: mutation testing; the edges are those of facts/concurrency.md section 6.

What can be broken: a record or a wait is dropped; a record is made one operation early, a wait one operation late; a
host thread does not wait (`until`), or takes a query for answered yes.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import StrEnum
from typing import NamedTuple

from kernels.races.scheduler.calls import Between, Call, CallStream
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.replay import run_token
from kernels.races.search.tokens import Token
from kernels.substrate.contract import HostOp, HostProgram, HostThread, Machine, Query, Sleep, Stream, Until


class Break(StrEnum):
    """How one order is broken."""

    DROP = "drop"
    SWAP = "swap with the next operation"
    SKIP = "do not wait"


class Mutant(NamedTuple):
    """One broken order. where: a stream, or a host thread for `SKIP`. place: of the operation on its stream, or of the
    yield in its thread, from 1. what: the order in words. event: that is recorded, waited for or asked about."""

    how: Break
    where: str
    place: int
    what: str
    event: str

    def __str__(self) -> str:
        return f"{self.how}: {self.what}"


def mutants(program: Program) -> list[Mutant]:
    """One mutant for each order that the program has in issue order, and for each way to break it."""
    plan = Plan(program)
    trace = run_token(plan, Token(plan.hash)).trace
    found: list[Mutant] = []
    for stream in dict.fromkeys(operation.stream for operation in trace.operations):
        lane = [operation for operation in trace.operations if operation.stream == stream]
        for place, operation in enumerate(lane, start=1):
            if operation.kind not in ("record", "wait"):
                continue
            what = f"{stream}.{operation.kind}({operation.event}), operation {place}"
            event = operation.event
            found.append(Mutant(Break.DROP, stream, place, what, event))
            if operation.kind == "wait" and place < len(lane) and lane[place].kind in ("copy", "kernel"):
                found.append(Mutant(Break.SWAP, stream, place, f"{what} one later", event))
            if operation.kind == "record" and place > 1 and lane[place - 2].kind in ("copy", "kernel"):
                found.append(Mutant(Break.SWAP, stream, place - 1, f"{what} one earlier", event))
    for step, place in _host_waits(program):
        what = f"thread {step[0]} {step[1]} {step[2]}, yield {place}"
        found.append(Mutant(Break.SKIP, step[0], place, what, step[2]))
    return found


def mutated(program: Program, mutant: Mutant) -> Program:
    """The program with this order broken."""

    def broken(machine: Machine) -> None:
        program(BreakingMachine(machine, mutant))

    return broken


def _host_waits(program: Program) -> list[tuple[tuple[str, str, str], int]]:
    """Every `until` and `query` of the default run, with its place among the thread's yields."""
    seen: list[tuple[tuple[str, str, str], int]] = []

    def watched(machine: Machine) -> None:
        seen.clear()
        program(BreakingMachine(machine, None, seen))

    plan = Plan(watched)
    run_token(plan, Token(plan.hash))
    return seen


class BreakingMachine(Between):
    """Hands everything on, but for the one order."""

    def __init__(
        self, machine: Machine, mutant: Mutant | None, seen: list[tuple[tuple[str, str, str], int]] | None = None
    ) -> None:
        super().__init__(machine)
        self._mutant = mutant
        self._seen = seen

    def stream(self, name: str, *, device: int) -> Stream:
        stream, mutant = self.machine.stream(name, device=device), self._mutant
        if mutant is None or mutant.where != name or mutant.how is Break.SKIP:
            return stream
        return BreakingStream(stream, mutant)

    def spawn(self, name: str, program: HostProgram) -> HostThread:
        return self.machine.spawn(name, self._host(name, program))

    def _host(self, name: str, program: HostProgram) -> Generator[HostOp, bool | None, None]:
        answer: bool | None = None
        place = 0
        while True:
            try:
                operation = program.send(answer)
            except StopIteration:
                return
            place += 1
            if self._seen is not None and isinstance(operation, Until | Query):
                verb = "waits for" if isinstance(operation, Until) else "asks for"
                self._seen.append(((name, verb, operation.event.name), place))
            mutant = self._mutant
            is_skipped = (
                mutant is not None and mutant.how is Break.SKIP and (mutant.where, mutant.place) == (name, place)
            )
            if is_skipped and isinstance(operation, Until | Query):
                yield Sleep(0)
                answer = True if isinstance(operation, Query) else None
            else:
                answer = yield operation


class BreakingStream(CallStream):
    """A stream that leaves one operation out, or holds it back behind the next one."""

    def __init__(self, stream: Stream, mutant: Mutant) -> None:
        super().__init__(stream.name, stream.device)
        self._stream = stream
        self._mutant = mutant
        self._count = 0
        self._held: Call | None = None

    def __repr__(self) -> str:
        return f"BreakingStream({self._stream!r}, {self._mutant})"

    def enqueue(self, call: Call) -> None:
        self._count += 1
        if self._count == self._mutant.place:
            # Dropped for good, or held until the next call.
            self._held = call if self._mutant.how is Break.SWAP else None
            return
        call.on(self._stream)
        if self._held is not None:
            held, self._held = self._held, None
            held.on(self._stream)
