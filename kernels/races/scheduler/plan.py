"""The plan: a program's script, with the steps of each branch worked out once.

Owns: which cells are shared, the steps of every node under that knowledge, the totals that strategies ask for. Does not
own: choosing (strategies), running (`execution.py`). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.races.scheduler.issue import IssuedOp
from kernels.races.scheduler.program import Program, program_hash
from kernels.races.scheduler.script import Node, Script
from kernels.races.scheduler.steps import StreamStep, stream_steps, touched_cells


class Plan:
    """One program, ready to be run again and again."""

    def __init__(self, program: Program, *, has_call_sites: bool = False) -> None:
        self.script = Script(program, has_call_sites=has_call_sites)
        self.hash = program_hash(program)
        self.shared = 0
        """Mask of the cells that two streams touch and at least one writes, as far as is known."""
        self._reads: dict[int, int] = {}
        self._writes: dict[int, int] = {}
        self._steps: dict[Node, list[list[StreamStep]]] = {}
        self._promised: dict[Node, list[int]] = {}
        self._known: set[Node] = set()

    def __repr__(self) -> str:
        return f"Plan({self.script}, shared={self.shared.bit_count()} cells)"

    def steps(self, node: Node) -> list[list[StreamStep]]:
        """What a node's input put on the streams, as steps: one list for each stream that got something.

        Where a new branch shares more cells than were known, steps worked out earlier are dropped: a run that is under
        way keeps its coarser ones, and the next one has them right.
        """
        found = self._steps.get(node)
        if found is not None:
            return found
        if node not in self._known:
            self._known.add(node)
            if node.issued and self._learn(node.issued):
                self._steps.clear()
        by_stream: dict[int, list[IssuedOp]] = {}
        for op in node.issued:
            by_stream.setdefault(op.stream, []).append(op)
        steps = [stream_steps(ops, self.shared) for ops in by_stream.values()]
        self._steps[node] = steps
        return steps

    def promised(self, node: Node) -> list[int]:
        """[cell] what memory holds once everything that was issued up to this node has ended as it should."""
        memory = self._promised.get(node)
        initial = self.script.cells.initial
        if memory is None or len(memory) != len(initial):
            memory = self._promised[node] = list(initial)
            for front, version in self.script.ledger(node).items():
                memory[front] = memory[front + 1] = version
        return memory

    def _learn(self, ops: Sequence[IssuedOp]) -> bool:
        before = self.shared
        for op in ops:
            reads, writes = touched_cells(op)
            self._reads[op.stream] = self._reads.get(op.stream, 0) | reads
            self._writes[op.stream] = self._writes.get(op.stream, 0) | writes
        for stream, writes in self._writes.items():
            for other in self._reads.keys() | self._writes.keys():
                if other != stream:
                    self.shared |= writes & (self._reads.get(other, 0) | self._writes.get(other, 0))
        return self.shared != before
