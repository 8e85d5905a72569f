"""The script: everything the host side of a program ever did, remembered as a tree.

Owns: stepping host programs, and remembering what they issued after which answers. Does not own: streams (`execution`),
choices (strategies). Floor 2b. Source: stateless model checking replays a program from its start for every schedule;
here the replay is a walk in a tree, and the program itself runs only where the tree has no branch yet.

What a host program does must follow from its inputs: which thread was stepped, what its query was answered, what a
kernel's body was shown, and what `landed` looked at. Those are the keys of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kernels.races.scheduler.cells import CellMap, Getter, Values, getter
from kernels.races.scheduler.frames import ObjectNumbers, frame_state
from kernels.races.scheduler.issue import IssuedOp, IssueEvent, IssueThread, IssuingMachine
from kernels.races.scheduler.program import Program, ProgramFailed, program_name
from kernels.races.scheduler.views import page_views
from kernels.substrate.contract import Event, HostOp, Park, Query, Sleep, Until
from kernels.substrate.trace import HostStep

_START = Sleep(0)

READY, UNTIL, QUERY, PARK, OVER = "ready", "until", "query", "park", "over"


class ThreadState(NamedTuple):
    """What a host thread waits for. record: of `until` and `query`, 0 where the event has none."""

    kind: str
    record: int = 0


class Step(NamedTuple):
    """Input: a thread was stepped, with this answer to its query (None where it asked nothing)."""

    thread: int
    answer: bool | None


class Shown(NamedTuple):
    """Input: a kernel's body was shown these values, one tuple for each of its reads."""

    ordinal: int
    values: tuple[Values, ...]


Input = Step | Shown
Looks = tuple[tuple[tuple[int, ...], Values], ...]


@dataclass(slots=True, eq=False)
class Node:
    """The host side after a sequence of inputs.

    alive: lane and record of every thread that is neither over nor parked; record 0 means that it waits for none.
    issued, host_rows: what the last input brought. looks: what `landed` showed meanwhile; `sights` has the same, as
    functions that pick the cells, and what they must find. error: the assertion that the program failed with. states:
    for threads that query, the state of their frames.
    """

    parent: Node | None
    key: Input | None
    threads: tuple[ThreadState, ...]
    alive: tuple[tuple[int, int], ...]
    issued: tuple[IssuedOp, ...]
    host_rows: tuple[HostStep, ...]
    looks: Looks = ()
    sights: tuple[tuple[Getter, Values], ...] = ()
    error: str = ""
    states: tuple[int, ...] = ()
    edges: dict[Input, list[Node]] = field(default_factory=dict)
    ledger: dict[int, int] | None = None

    @property
    def answers(self) -> tuple[bool, ...]:
        """What all queries on the way here were answered. With no other choice left to the host, its branch."""
        answers: list[bool] = []
        at: Node | None = self
        while at is not None:
            if isinstance(at.key, Step) and at.key.answer is not None:
                answers.append(at.key.answer)
            at = at.parent
        return tuple(reversed(answers))

    def __repr__(self) -> str:
        return f"Node({self.key}, issued={len(self.issued)}, threads={[state.kind for state in self.threads]})"


class _Asked(NamedTuple):
    """What a live thread yielded last; `record` is what an `Until` was bound to."""

    operation: HostOp | None
    record: int = 0
    generation: int = 0


class Script:
    """The tree of one program. Names and counts of streams, threads and buffers are those of the newest run."""

    def __init__(self, program: Program, *, has_call_sites: bool = False) -> None:
        self.program = program
        self.cells = CellMap()
        self.node_count = 0
        self.live_runs = 0
        """How often the program itself was started."""
        self._has_call_sites = has_call_sites
        self._asked: list[_Asked] = []
        self._ops: dict[int, IssuedOp] = {}
        self._numbers = ObjectNumbers()
        self.machine, self.root = self._start()
        self._live_node = self.root

    def __repr__(self) -> str:
        return f"Script(nodes={self.node_count}, live_runs={self.live_runs}, {self.cells})"

    def advance(self, node: Node, key: Input, memory: Sequence[int]) -> Node:
        """The node behind this input. Effect: runs the program where it has never been."""
        for known in node.edges.get(key, ()):
            for sees, seen in known.sights:
                if sees(memory) != seen:
                    break
            else:
                return known
        if self._live_node is not node:
            self._replay(node)
        child = self._run(node, key, memory, None)
        node.edges.setdefault(key, []).append(child)
        return child

    def ledger(self, node: Node) -> dict[int, int]:
        """Front cell -> version that host issue order promises at this node, for every cell that was written."""
        if node.ledger is None:
            ledger = dict(self.ledger(node.parent)) if node.parent is not None else {}
            for op in node.issued:
                for fronts, versions in zip(op.writes, op.versions or op.wanted, strict=False):
                    ledger.update(zip(fronts, versions, strict=True))
            node.ledger = ledger
        return node.ledger

    def label_of(self, ordinal: int) -> str:
        """The label of an operation of the newest run."""
        op = self._ops.get(ordinal)
        return op.label if op is not None else f"operation {ordinal}"

    def _start(self) -> tuple[IssuingMachine, Node]:
        self.live_runs += 1
        machine = IssuingMachine(self.cells, has_call_sites=self._has_call_sites)
        self._asked, self._ops, self._numbers = [], {}, ObjectNumbers()
        self.machine = machine
        try:
            self.program(machine)
        except AssertionError as failed:
            raise ProgramFailed(program_name(self.program), str(failed)) from failed
        return machine, self._node(None, None)

    def _replay(self, node: Node) -> None:
        """Bring a fresh machine to this node."""
        path: list[Node] = []
        at: Node | None = node
        while at is not None and at.parent is not None:
            path.append(at)
            at = at.parent
        self._start()
        for step in reversed(path):
            assert step.key is not None and step.parent is not None
            self._run(step.parent, step.key, (), [seen for _, seen in step.looks])
        self._live_node = node

    def _run(self, parent: Node, key: Input, memory: Sequence[int], given: list[Values] | None) -> Node:
        machine = self.machine
        machine.issued, machine.host_rows, machine.looks = [], [], []
        machine.memory, machine.looks_given = memory, given
        error = ""
        try:
            if isinstance(key, Step):
                self._step(machine.threads[key.thread], key.answer)
            else:
                op = self._ops[key.ordinal]
                assert op.body is not None
                op.body(page_views(op, key.values))
        except AssertionError as failed:
            error = str(failed) or "an assertion of the program failed"
        child = self._node(parent, key, error)
        self._live_node = child
        return child

    def _step(self, thread: IssueThread, answer: bool | None) -> None:
        machine, asked = self.machine, self._asked[thread.index]
        if isinstance(asked.operation, Until):
            event = asked.operation.event.name
            machine.host_rows.append(HostStep("until", thread.name, 0, event=event, generation=asked.generation))
        elif isinstance(asked.operation, Query):
            current = _own(asked.operation.event)
            machine.host_rows.append(
                HostStep(
                    "query", thread.name, 0, event=current.name, generation=current.generation, answer=bool(answer)
                )
            )
        elif isinstance(asked.operation, Park):
            machine.host_rows.append(HostStep("park", thread.name, 0, wakes=tuple(thread.wakes)))
            thread.wakes.clear()
        machine.thread_name, outer = thread.name, machine.thread_name
        try:
            operation = thread.program.send(answer)
        except StopIteration:
            self._asked[thread.index] = _Asked(None)
            machine.host_rows.append(HostStep("exit", thread.name, 0))
            return
        finally:
            machine.thread_name = outer
        if isinstance(operation, Until):
            event_now = _own(operation.event)
            self._asked[thread.index] = _Asked(operation, event_now.record, event_now.generation)
        else:
            self._asked[thread.index] = _Asked(operation)

    def _node(self, parent: Node | None, key: Input | None, error: str = "") -> Node:
        machine = self.machine
        self.node_count += 1
        while len(self._asked) < len(machine.threads):
            # Not started yet: ready, and nothing was asked.
            self._asked.append(_Asked(_START))
        for op in machine.issued:
            self._ops[op.ordinal] = op
        threads = tuple(self._state(thread, asked) for thread, asked in zip(machine.threads, self._asked, strict=True))
        looks = tuple(machine.looks)
        return Node(
            parent,
            key,
            () if error else threads,
            () if error else tuple(_alive(threads)),
            tuple(machine.issued),
            tuple(machine.host_rows),
            looks,
            tuple((getter(cells), seen) for cells, seen in looks),
            error,
            tuple(
                frame_state(thread.program, self._numbers) if state.kind == QUERY else 0
                for thread, state in zip(machine.threads, threads, strict=True)
            ),
        )

    def _state(self, thread: IssueThread, asked: _Asked) -> ThreadState:
        operation = asked.operation
        if operation is None:
            return ThreadState(OVER)
        if isinstance(operation, Until):
            return ThreadState(UNTIL, asked.record)
        if isinstance(operation, Query):
            return ThreadState(QUERY, _own(operation.event).record)
        if isinstance(operation, Park):
            return ThreadState(READY if thread.wakes else PARK)
        return ThreadState(READY)


def _alive(threads: Sequence[ThreadState]) -> Iterator[tuple[int, int]]:
    for index, state in enumerate(threads):
        if state.kind not in (OVER, PARK):
            yield -index - 1, state.record


def _own(event: Event) -> IssueEvent:
    assert isinstance(event, IssueEvent), f"{event!r} is no event of this machine"
    return event
