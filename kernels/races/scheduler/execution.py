"""One execution: runs steps in the order that a strategy chooses, and says what went wrong.

Owns: what may run now (stream order, waits, host threads), memory, failures. Does not own: choosing (strategies), what
is issued (`script.py`). Floor 2b. Source: shuttle's split of mechanism and policy (facts/style.md 2.2).

A lane is a stream (its number, from 0) or a host thread (-1 for the first, -2 for the second, and so on).

Host steps that cannot matter are not choices: in a program of one host thread it runs on until it asks or waits for
something, because to issue work later only allows less. (Where other threads have ended that is not so: what the last
one does could have come before their ends.) A query that was answered no is not asked again, by a thread
in the same state, before one of the records that it asked about is complete: the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kernels.races.scheduler.outcome import Outcome
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.script import QUERY, READY, UNTIL, Node, Shown, Step
from kernels.races.scheduler.steps import BODY, MOVE, READ, WRITE, Action, StreamStep

STEPS_MAX = 1_000_000


class Strategy(Protocol):
    """Who runs next. It may look at everything in the execution, and change nothing."""

    name: str

    def begin(self, run: Execution) -> None:
        """A new execution starts; nothing has run yet."""

    def choose(self, run: Execution) -> int:
        """Index into `run.runnable` of the lane that makes the next step."""


class Observer(Protocol):
    """Told of everything that happens, for traces and for exhaustive search."""

    def stream_step(self, run: Execution, step: StreamStep) -> None: ...

    def host_step(self, run: Execution, thread: int, node: Node) -> None: ...


class Execution:
    """One run of a plan. Strategies read `runnable`, `peek`, `ended`; `step_count` is there when it is over."""

    def __init__(self, plan: Plan, *, observer: Observer | None = None) -> None:
        self.plan = plan
        self.node = plan.script.root
        self.memory: list[int] = list(plan.script.cells.initial)
        self.done: set[int] = {0}
        self.runnable: list[int] = []
        self.step_count = 0
        self.ended: list[int] = []
        """[stream] place of the last operation that has ended."""
        self.outcome = Outcome()
        self._observer = observer
        self._queues: list[list[StreamStep]] = []
        self._heads: list[int] = []
        self._waiting: dict[int, list[int]] = {}
        # Thread -> the records it was told are not complete, each with the state it asked in, since it last issued.
        self._refused: dict[int, set[tuple[int, int]]] = {}
        if self.node.issued:
            self._take(self.node)
        if self._observer is not None:
            self._observer.host_step(self, -1, self.node)
        self._settle_hosts()

    def __repr__(self) -> str:
        return f"Execution(steps={self.step_count}, runnable={self.runnable}, {self.outcome})"

    def peek(self, lane: int) -> StreamStep | None:
        """What a runnable stream would do next; None for a host thread."""
        return self._queues[lane][self._heads[lane]] if lane >= 0 else None

    def thread_record(self, lane: int) -> int:
        """The record that a host thread's next step looks at; 0 for none."""
        return self.node.threads[-lane - 1].record

    def run(self, strategy: Strategy, steps_max: int = STEPS_MAX, *, asks_always: bool = False) -> Outcome:
        """Run to the end, or to a limit of steps (then the outcome is cut).

        asks_always: also ask the strategy where only one lane can run; such answers are not recorded.
        """
        strategy.begin(self)
        # Everything that the loop needs, by local names: it runs a million times a second.
        runnable, heads, queues, ended = self.runnable, self._heads, self._queues, self.ended
        memory, done, observer = self.memory, self.done, self._observer
        choose, note_choice = strategy.choose, self.outcome.choices.append
        steps_left = steps_max
        while runnable:
            index = 0
            if len(runnable) > 1:
                index = choose(self)
                note_choice(index)
            elif asks_always:
                choose(self)
            lane = runnable[index]
            steps_left -= 1
            if steps_left < 0:
                self.outcome.is_cut = True
                break
            if lane < 0:
                self._step_host(lane)
                continue
            queue, head = queues[lane], heads[lane]
            step = queue[head]
            heads[lane] = head = head + 1
            for kind, ordinal, source, target, values, action in step.flat:
                if kind == MOVE:
                    moved = memory[source]
                    if moved != values:
                        self._note_stale(ordinal)
                    memory[target] = moved
                elif kind == READ:
                    if memory[source] != values:
                        self._note_stale(ordinal)
                elif kind == WRITE:
                    memory[target] = values
                else:
                    self._unusual(action)
            if step.finished:
                ended[lane] = step.last_place
            if observer is not None:
                observer.stream_step(self, step)
            # A kernel's body may have made the host issue more to this very stream.
            queue = queues[lane]
            if head == len(queue) or (queue[head].needs and not self._is_free(lane, queue[head].needs)):
                runnable.remove(lane)
            if step.completes:
                done.update(step.completes)
                for record in step.completes:
                    if record in self._waiting:
                        self._release(record)
        self.step_count = steps_max - max(steps_left, 0)
        if not self.outcome.is_cut:
            self._finish()
        return self.outcome

    # Streams.

    def _unusual(self, action: Action) -> None:
        """A kernel's body, or cells that lie unevenly."""
        memory, op = self.memory, action.op
        if action.kind == BODY:
            # What a body does to the host side becomes a branch of the script.
            shown = Shown(op.ordinal, tuple(pick(memory) for pick in action.picks))
            self._enter(self.plan.script.advance(self.node, shown, memory), None)
            # A body may have woken a host thread, or ended them all by failing.
            self._settle_hosts()
            return
        moved: Sequence[int] = action.written or ()
        if action.pick is not None:
            seen = action.pick(memory)
            if list(seen) != action.values:
                self._note_stale(op.ordinal)
            moved = seen
        for cell, value in zip(action.cells, moved, strict=bool(action.cells)):
            memory[cell] = value

    def _note_stale(self, ordinal: int) -> None:
        stale = self.outcome.stale
        if not stale or stale[-1] != ordinal:
            stale.append(ordinal)

    def _is_free(self, lane: int, needs: tuple[int, ...]) -> bool:
        done = self.done
        for record in needs:
            if record not in done:
                self._waiting.setdefault(record, []).append(lane)
                return False
        return True

    def _release(self, record: int) -> None:
        """A record is complete: whoever waited for it may go on, if that was all."""
        for lane in self._waiting.pop(record):
            if lane < 0:
                self._refused.pop(-lane - 1, None)
                self._settle_hosts()
            elif self._is_free(lane, self._queues[lane][self._heads[lane]].needs):
                self.runnable.append(lane)

    def _take(self, node: Node) -> None:
        """Put what a node issued on its streams."""
        missing = len(self.plan.script.cells.initial) - len(self.memory)
        if missing > 0:
            self.memory += self.plan.script.cells.initial[-missing:]
        for steps in self.plan.steps(node):
            lane = steps[0].stream
            while lane >= len(self._queues):
                self._queues.append([])
                self._heads.append(0)
                self.ended.append(0)
            queue = self._queues[lane]
            was_empty = self._heads[lane] == len(queue)
            # The plan's own list stands in as long as there is no other: it is never changed.
            self._queues[lane] = [*queue, *steps] if queue else steps
            # A stream that runs a kernel's body is in the list still; whether it may go on is seen behind the body.
            if was_empty and lane not in self.runnable and self._is_free(lane, steps[0].needs):
                self.runnable.append(lane)

    # Host threads.

    def _step_host(self, lane: int) -> None:
        thread = -lane - 1
        state = self.node.threads[thread]
        answer = (state.record in self.done) if state.kind == QUERY else None
        if answer is False:
            self._refused.setdefault(thread, set()).add((state.record, self.node.states[thread]))
        elif state.kind != READY:
            self._refused.pop(thread, None)
        node = self.plan.script.advance(self.node, Step(thread, answer), self.memory)
        self._enter(node, thread)
        self._settle_hosts()

    def _enter(self, node: Node, thread: int | None) -> None:
        self.node = node
        if node.issued:
            if thread is not None:
                self._refused.pop(thread, None)
            self._take(node)
        if node.error:
            self.outcome.error = node.error
        if self._observer is not None and thread is not None:
            self._observer.host_step(self, thread, node)

    def _settle_hosts(self) -> None:
        """Work out which host threads may run; a program's only thread runs on where that is no choice."""
        while len(self.node.threads) == 1:
            state = self.node.threads[0]
            if state.kind != READY and (state.kind != UNTIL or state.record not in self.done):
                break
            self._enter(self.plan.script.advance(self.node, Step(0, None), self.memory), 0)
        done = self.done
        lanes = [lane for lane in self.runnable if lane >= 0]
        for lane, record in self.node.alive:
            if record in done or self._may_ask(-lane - 1):
                lanes.append(lane)
        self.runnable[:] = lanes

    def _may_ask(self, thread: int) -> bool:
        """Whether a thread may ask for a record that is not complete. Effect: where not, the thread waits for one."""
        state = self.node.threads[thread]
        if state.kind == QUERY:
            refused = self._refused.get(thread, set())
            if (state.record, self.node.states[thread]) not in refused:
                return True
            self._watch(thread, {record for record, _ in refused})
        else:
            self._watch(thread, {state.record})
        return False

    def _watch(self, thread: int, records: set[int]) -> None:
        for record in records - self.done:
            lanes = self._waiting.setdefault(record, [])
            if -thread - 1 not in lanes:
                lanes.append(-thread - 1)

    # The end.

    def _finish(self) -> None:
        machine, outcome = self.plan.script.machine, self.outcome
        if outcome.error:
            return
        stuck: list[str] = []
        for lane, queue in enumerate(self._queues):
            if self._heads[lane] < len(queue):
                stuck.append(f"stream {machine.streams[lane].name} at {queue[self._heads[lane]].label}")
        for index, state in enumerate(self.node.threads):
            if state.kind in (UNTIL, QUERY):
                stuck.append(f"thread {machine.threads[index].name}")
        outcome.stuck = tuple(stuck)
        promised = self.plan.promised(self.node)
        if not stuck and self.memory != promised:
            fronts = range(0, len(promised), 2)
            outcome.lost = tuple(cell for cell in fronts if self.memory[cell : cell + 2] != promised[cell : cell + 2])
