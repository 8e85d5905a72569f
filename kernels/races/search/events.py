"""What one execution did, as events with their dependencies: the input of exhaustive search.

Owns: which two steps may not be swapped, and what happened before what. Does not own: which order to try next
(`exhaustive.py`). Floor 2b. Source: Flanagan and Godefroid, POPL 2005 (happens-before of dependent transitions).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kernels.races.scheduler.cells import mask
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.script import QUERY, Node, Shown
from kernels.races.scheduler.steps import BODY, StreamStep


@dataclass(slots=True, eq=False)
class Event:
    """One step. `asked`: the record that a query looked at, 0 for none; `is_host`: it ran host code."""

    lane: int
    enabled: tuple[int, ...]
    read_mask: int = 0
    write_mask: int = 0
    needs: tuple[int, ...] = ()
    completes: tuple[int, ...] = ()
    asked: int = 0
    is_host: bool = False
    issuer: int = -1
    """Index of the event that issued its first operation; -1 for what was there from the start."""

    def depends_on(self, other: Event) -> bool:
        """True where swapping the two, if that is possible, could matter."""
        if self.write_mask & (other.read_mask | other.write_mask) or self.read_mask & other.write_mask:
            return True
        if (self.asked and self.asked in other.completes) or (other.asked and other.asked in self.completes):
            return True
        # Host threads and kernel bodies share the program's own variables, which nobody declares.
        return self.is_host and other.is_host


@dataclass(slots=True, eq=False)
class EventLog:
    """An observer that notes every event of an execution; `begin` is called before each step."""

    events: list[Event] = field(default_factory=list)
    issuer_of: dict[int, int] = field(default_factory=dict)
    """Ordinal -> the event that issued it."""

    def begin(self, run: Execution, lane: int) -> None:
        """A step of this lane comes next."""
        event = Event(lane, tuple(run.runnable))
        if lane < 0:
            event.is_host = True
            state = run.node.threads[-lane - 1]
            event.asked = state.record if state.kind == QUERY else 0
        else:
            step = run.peek(lane)
            assert step is not None
            event.read_mask, event.write_mask = step.read_mask, step.write_mask
            event.needs, event.completes = step.needs, tuple(step.completes)
            event.is_host = any(action.kind == BODY for action in step.actions)
            first = step.actions[0].op if step.actions else step.finished[0]
            event.issuer = self.issuer_of.get(first.ordinal, -1)
        self.events.append(event)

    def stream_step(self, run: Execution, step: StreamStep) -> None:
        """Everything about a stream's step is known before it runs."""

    def host_step(self, run: Execution, thread: int, node: Node) -> None:
        """Host code ran: as a step of its own, or at once behind the event that let its thread go on."""
        if not self.events:
            return
        index = len(self.events) - 1
        event = self.events[index]
        for op in node.issued:
            self.issuer_of[op.ordinal] = index
        for cells, _ in node.looks:
            event.read_mask |= mask(cells)
        if isinstance(node.key, Shown):
            event.is_host = True


def pasts(events: list[Event]) -> list[int]:
    """For each event, the mask of events that happened before it, dependent ones included."""
    found: list[int] = []
    last_of_lane: dict[int, int] = {}
    completer: dict[int, int] = {}
    for index, event in enumerate(events):
        past = forced_past(index, event, found, last_of_lane, completer)
        for earlier in range(index - 1, -1, -1):
            if not past >> earlier & 1 and event.depends_on(events[earlier]):
                past |= found[earlier] | 1 << earlier
        found.append(past)
        last_of_lane[event.lane] = index
        completer.update(dict.fromkeys(event.completes, index))
    return found


def forced_past(
    index: int, event: Event, found: list[int], last_of_lane: dict[int, int], completer: dict[int, int]
) -> int:
    """What had to happen before an event in every order: its lane, its records, the host step that issued it."""
    before = [last_of_lane.get(event.lane, -1), event.issuer, *(completer.get(record, -1) for record in event.needs)]
    past = 0
    for earlier in before:
        if 0 <= earlier < index:
            past |= found[earlier] | 1 << earlier
    return past
