"""Failures put in on purpose: a program in which one copy brings nothing.

Owns: the machine that stands between, and how a program asks whether a transfer arrived. Does not own: what must follow
(`agreement.failures`, the readers' own checks). Floor 2b. Source: facts/bugs.md class 14.

A real transfer returns a status; here the program asks `arrived`, which says yes on every machine but this one. The
copy is replaced by the mark `failed`, with its label for a ticket, so that the law of failures knows of it.
"""

from __future__ import annotations

from kernels.races.laws.marks import say
from kernels.races.scheduler.calls import Between, Call, CallStream, Copy
from kernels.races.scheduler.program import Program
from kernels.substrate.contract import Machine, Stream


def failing(program: Program, label: str) -> Program:
    """The same program on a machine on which the copies of this label fail."""

    def injected(machine: Machine) -> None:
        program(FailingMachine(machine, label))

    return injected


def arrived(machine: Machine, label: str) -> bool:
    """What a transfer's status would be."""
    return not (isinstance(machine, FailingMachine) and machine.label == label)


class FailingMachine(Between):
    """Hands everything on, except the copies that fail."""

    def __init__(self, machine: Machine, label: str) -> None:
        super().__init__(machine)
        self.label = label

    def stream(self, name: str, *, device: int) -> Stream:
        return _FailingStream(self, self.machine.stream(name, device=device))


class _FailingStream(CallStream):
    def __init__(self, machine: FailingMachine, stream: Stream) -> None:
        super().__init__(stream.name, stream.device)
        self._machine = machine
        self._stream = stream

    def enqueue(self, call: Call) -> None:
        if isinstance(call, Copy) and call.label == self._machine.label:
            say(self._stream, "failed", ticket=call.label)
        else:
            call.on(self._stream)
