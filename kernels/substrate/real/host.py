"""Host threads of a real machine: generators that are resumed when what they yielded for has come.

Owns: what each yield means on a wall clock, and wakes. Does not own: the loop that calls (`machine.py`). Floor 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernels.substrate.contract import HostProgram, Park, Query, Sleep, SleepUntil, Until

if TYPE_CHECKING:
    from kernels.substrate.real.machine import RealMachine
    from kernels.substrate.real.work import Record


class RealThread:
    """One host thread."""

    def __init__(self, machine: RealMachine, name: str, program: HostProgram) -> None:
        self.name = name
        self.is_over = False
        self.waits_for = "its start"
        self._machine = machine
        self._program = program
        self._until: tuple[str, Record] | None = None
        self._wakes: list[int] = []
        self._wake_count = 0
        self._is_parked = False
        self._resume_after(0)

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"waits for {self.waits_for}"
        return f"RealThread({self.name}, {state}, wakes={len(self._wakes)})"

    def wake(self) -> None:
        machine = self._machine
        machine.assert_host("wake a host thread")
        self._wake_count += 1
        self._wakes.append(self._wake_count)
        machine.report_host("wake", machine.thread_name, other=self.name, wakes=(self._wake_count,))
        if self._is_parked:
            self._is_parked = False
            machine.at(machine.now_ns, self._unpark)

    def hear(self, record: Record) -> None:
        """A record is complete. Effect: schedules the next step where this thread waits for it."""
        if self._until is not None and self._until[1] is record:
            self._machine.at(self._machine.now_ns, self._finish_until)

    def _step(self, answer: bool | None) -> None:
        """Run the program to its next yield, and arrange what that yield waits for."""
        machine = self._machine
        try:
            with machine.running(self):
                asked = self._program.send(answer)
        except StopIteration:
            self.is_over = True
            self.waits_for = "nothing"
            machine.report_host("exit", self.name)
            return
        if isinstance(asked, Until):
            record = machine.own_event(asked.event).current
            self.waits_for = f"event {asked.event.name}"
            if record is not None and not record.is_settled:
                self._until = (asked.event.name, record)
                return
            machine.report_host("until", self.name, event=asked.event.name, record=record)
            self._resume_after(0)
        elif isinstance(asked, Query):
            self._answer(asked)
        elif isinstance(asked, Sleep):
            assert asked.duration_ns >= 0, f"{self.name} sleeps for {asked.duration_ns} ns"
            delay_ns = 0
            if asked.point:
                machine.check_point(asked.point)
                delay_ns = machine.delay_ns(f"{self.name}/{asked.point}", asked.point, None)
            self.waits_for = f"{asked.duration_ns + delay_ns} ns to pass"
            self._resume_after(asked.duration_ns + delay_ns)
        elif isinstance(asked, SleepUntil):
            self.waits_for = f"{asked.time_ns} ns"
            machine.at(asked.time_ns, self._resume)
        else:
            assert isinstance(asked, Park), f"{self.name} yielded {asked!r}, which is no host operation"
            self.waits_for = "a wake"
            if self._wakes:
                machine.at(machine.now_ns, self._unpark)
            else:
                self._is_parked = True

    def _resume_after(self, duration_ns: int) -> None:
        self._machine.at(self._machine.now_ns + duration_ns, self._resume)

    def _resume(self) -> None:
        self._step(None)

    def _finish_until(self) -> None:
        assert self._until is not None, f"{self.name} waits for no event"
        name, record = self._until
        self._until = None
        self._machine.report_host("until", self.name, event=name, record=record)
        self._step(None)

    def _answer(self, asked: Query) -> None:
        machine = self._machine
        # The question is about now, not about the last look.
        machine.settle()
        record = machine.own_event(asked.event).current
        is_done = record is None or record.is_settled
        machine.report_host("query", self.name, event=asked.event.name, record=record, answer=is_done)
        machine.at(machine.now_ns, lambda: self._step(is_done))

    def _unpark(self) -> None:
        consumed, self._wakes = tuple(self._wakes), []
        self._machine.report_host("park", self.name, wakes=consumed)
        self._step(None)
