"""Host threads: generators that issue work and yield wherever they look at the device or let time pass.

Owns: a thread's clock, what each yield means, and wakes. Does not own: the work (`stream.py`) or the clock of the
machine. Floor 1.

What a thread does between two yields is one step of host issue order. Its clock runs on while it issues, by the cost of
each call, so its operations may start at the earliest at staggered moments of that step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernels.substrate.contract import HostProgram, Park, Query, Sleep, SleepUntil, Until
from kernels.substrate.trace import HostKind

if TYPE_CHECKING:
    from kernels.substrate.virtual.machine import VirtualMachine
    from kernels.substrate.virtual.work import Record


class VirtualThread:
    """One host thread. `clock_ns` is its own time, at or ahead of the machine's while it runs."""

    def __init__(self, machine: VirtualMachine, name: str, program: HostProgram, start_ns: int) -> None:
        self.name = name
        self.clock_ns = start_ns
        self.is_over = False
        self.waits_for = "its start"
        self._machine = machine
        self._program = program
        self._until: tuple[str, Record] | None = None
        # Wakes that were not consumed yet: (time, number). `_wake_count` numbers them.
        self._wakes: list[tuple[int, int]] = []
        self._wake_count = 0
        self._is_parked = False
        self._resume_ns = -1
        machine.at(start_ns, self._start, None)

    def __repr__(self) -> str:
        state = "over" if self.is_over else f"waits for {self.waits_for}"
        return f"VirtualThread({self.name}, clock={self.clock_ns} ns, {state}, wakes={len(self._wakes)})"

    def wake(self) -> None:
        machine = self._machine
        machine.assert_host("wake a host thread")
        time_ns = machine.host_ns
        self._wake_count += 1
        self._wakes.append((time_ns, self._wake_count))
        machine.report_host("wake", machine.thread_name, time_ns, other=self.name, wakes=(self._wake_count,))
        if self._is_parked and (self._resume_ns < 0 or max(time_ns, self.clock_ns) < self._resume_ns):
            self._wake_at(time_ns)

    def go_on(self, done_ns: int) -> None:
        """The record that `Until` waits for will be, or was, complete at this time."""
        self._machine.at(max(self.clock_ns, done_ns), self._finish_until, None)

    def _start(self, _: None) -> None:
        self._step(None)

    def _step(self, answer: bool | None) -> None:
        """Run the program to its next yield, and arrange what that yield waits for."""
        try:
            with self._machine.running(self):
                asked = self._program.send(answer)
        except StopIteration:
            self.is_over = True
            self.waits_for = "nothing"
            self._report("exit")
            return
        machine = self._machine
        if isinstance(asked, Until):
            record = machine.own_event(asked.event).current
            self.waits_for = f"event {asked.event.name}"
            if record is None:
                self._report("until", event=asked.event.name)
                machine.at(self.clock_ns, self._resume, None)
                return
            self._until = (asked.event.name, record)
            if record.done_ns is None:
                record.waiters.append(self)
            else:
                self.go_on(record.done_ns)
        elif isinstance(asked, Query):
            self.waits_for = "an answer"
            machine.at(self.clock_ns, self._answer, asked)
        elif isinstance(asked, Sleep):
            assert asked.duration_ns >= 0, f"{self.name} sleeps for {asked.duration_ns} ns"
            self._sleep(self.clock_ns + asked.duration_ns + machine.host_delay_ns(self.name, asked.point))
        elif isinstance(asked, SleepUntil):
            self._sleep(max(self.clock_ns, asked.time_ns))
        else:
            assert isinstance(asked, Park), f"{self.name} yielded {asked!r}, which is no host operation"
            self.waits_for = "a wake"
            self._is_parked = True
            if self._wakes:
                self._wake_at(min(self._wakes)[0])

    def _sleep(self, time_ns: int) -> None:
        self.waits_for = f"{time_ns} ns"
        self._machine.at(time_ns, self._resume, None)

    def _resume(self, _: None) -> None:
        self.clock_ns = self._machine.now_ns
        self._step(None)

    def _finish_until(self, _: None) -> None:
        assert self._until is not None, f"{self.name} waits for no event"
        name, record = self._until
        self._until = None
        self.clock_ns = self._machine.now_ns
        self._report("until", event=name, generation=record.generation)
        self._step(None)

    def _answer(self, asked: Query) -> None:
        record = self._machine.own_event(asked.event).current
        is_done = record is None or (record.done_ns is not None and record.done_ns <= self.clock_ns)
        generation = 0 if record is None else record.generation
        self._report("query", event=asked.event.name, generation=generation, answer=is_done)
        self._step(is_done)

    def _wake_at(self, time_ns: int) -> None:
        self._resume_ns = max(time_ns, self.clock_ns)
        self._machine.at(self._resume_ns, self._unpark, self._resume_ns)

    def _unpark(self, resume_ns: int) -> None:
        # Void where an earlier wake has overtaken this one.
        if not self._is_parked or resume_ns != self._resume_ns:
            return
        self._is_parked = False
        self._resume_ns = -1
        self.clock_ns = resume_ns
        consumed = tuple(number for time_ns, number in self._wakes if time_ns <= resume_ns)
        self._wakes = [wake for wake in self._wakes if wake[0] > resume_ns]
        self._report("park", wakes=consumed)
        self._step(None)

    def _report(
        self,
        kind: HostKind,
        *,
        event: str = "",
        generation: int = 0,
        answer: bool = True,
        wakes: tuple[int, ...] = (),
    ) -> None:
        self._machine.report_host(
            kind, self.name, self.clock_ns, event=event, generation=generation, answer=answer, wakes=wakes
        )
