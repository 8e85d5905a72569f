"""Steps: the smallest things that are scheduled, and the collapse of those that nobody else can notice.

Owns: how operations become steps. Does not own: running them (`execution.py`). Floor 2b.
Source: facts/concurrency.md section 3a: collapsing operations that touch nothing shared into their neighbours is worth
more than the choice of algorithm.

A copy is two steps (front halves, back halves); a kernel is a read and a write, as far as it has them. A record is part
of the step before it: to complete it later would only delay who waits for it. A wait is a condition of the step behind
it. What touches no shared cell is merged with what follows it, or with what precedes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kernels.races.scheduler.cells import Getter, Values, as_slice, getter, halves, mask
from kernels.races.scheduler.issue import IssuedOp

READ, WRITE, MOVE, SCATTER, BODY = range(5)

_NOWHERE = slice(0, 0)


class Action(NamedTuple):
    """One access. Cells are named by slices where they lie evenly, which is the usual case; a single one by its number.

    READ: compare the cells `source` with `values`. WRITE: put `values` into `target`. MOVE: do both, with what was
    read. SCATTER: as MOVE, READ or WRITE, but for cells that lie unevenly: `pick` reads them, `cells` are written, and
    `written` are the values, or None for what was read. BODY: show what the kernel read to its body.
    """

    kind: int
    op: IssuedOp
    source: slice | int = _NOWHERE
    target: slice | int = _NOWHERE
    values: Sequence[int] | int = ()
    pick: Getter | None = None
    cells: tuple[int, ...] = ()
    written: Values | None = None
    picks: tuple[Getter, ...] = ()
    read_mask: int = 0
    write_mask: int = 0


Flat = tuple[int, int, Any, Any, Any, Action]
"""An action as the inner loop unpacks it: kind, ordinal, source, target, values, and the action itself."""


@dataclass(slots=True, eq=False)
class StreamStep:
    """What a stream does in one go. needs: records that must be complete before it, completes: those that are then.

    finished: operations that have ended with this step, the last of them at `last_place` of the stream. ordinal: of its
    first operation, for the default order.
    """

    stream: int
    ordinal: int
    needs: tuple[int, ...] = ()
    actions: list[Action] = field(default_factory=list)
    completes: list[int] = field(default_factory=list)
    finished: list[IssuedOp] = field(default_factory=list)
    read_mask: int = 0
    write_mask: int = 0
    is_shared: bool = False
    last_place: int = 0
    flat: tuple[Flat, ...] = ()
    """The actions once more: a plain tuple is unpacked faster than fields are read."""

    @property
    def label(self) -> str:
        return self.actions[0].op.label if self.actions else self.finished[0].label

    def conflicts(self, other: StreamStep) -> bool:
        """True where the two touch a common cell and one of them writes it."""
        return bool(self.write_mask & (other.read_mask | other.write_mask) or self.read_mask & other.write_mask)


def stream_steps(ops: Sequence[IssuedOp], shared: int) -> list[StreamStep]:
    """The steps of one stream's operations, in order. shared: mask of the cells that several streams touch."""
    steps: list[StreamStep] = []
    current: StreamStep | None = None
    waits: list[IssuedOp] = []

    def begin(op: IssuedOp) -> StreamStep:
        needs = tuple(dict.fromkeys(wait.record for wait in waits if wait.record))
        step = StreamStep(op.stream, waits[0].ordinal if waits else op.ordinal, needs, finished=list(waits))
        waits.clear()
        steps.append(step)
        return step

    for op in ops:
        if op.kind == "wait":
            waits.append(op)
            continue
        if op.kind == "record":
            if current is None or waits:
                current = begin(op)
            current.completes.append(op.record)
            current.finished.append(op)
            continue
        for action in _actions(op):
            touched = action.read_mask | action.write_mask
            is_shared = bool(touched & shared) or action.kind == BODY
            is_full = current is not None and is_shared and (current.is_shared or bool(current.completes))
            if current is None or waits or (is_full and action.kind != BODY):
                current = begin(op)
            current.actions.append(action)
            current.read_mask |= action.read_mask
            current.write_mask |= action.write_mask
            current.is_shared |= is_shared
        if current is None or waits:
            current = begin(op)
        current.finished.append(op)
    if waits:
        begin(waits[0])
    for step in steps:
        step.last_place = step.finished[-1].place if step.finished else 0
        step.flat = tuple((one.kind, one.op.ordinal, one.source, one.target, one.values, one) for one in step.actions)
    return steps


def touched_cells(op: IssuedOp) -> tuple[int, int]:
    """Masks of the cells that an operation reads and writes."""
    reads, writes = 0, 0
    for fronts in op.reads:
        reads |= mask(halves(fronts))
    for fronts in op.writes:
        writes |= mask(halves(fronts))
    return reads, writes


def _actions(op: IssuedOp) -> list[Action]:
    if op.kind == "copy":
        return [_move(op, half) for half in (0, 1)] if op.writes[0] else []
    actions: list[Action] = []
    reads = tuple(cell for fronts in op.reads for cell in halves(fronts))
    if reads:
        wanted = [version for part in op.wanted for version in part for _ in range(2)]
        actions.append(_read(op, reads, wanted))
    if op.body is not None:
        picks = tuple(getter(halves(fronts)) for fronts in op.reads)
        actions.append(Action(BODY, op, picks=picks, read_mask=mask(reads)))
    cells = tuple(cell for fronts in op.writes for cell in halves(fronts))
    if cells:
        versions = [version for part in op.versions for version in part for _ in range(2)]
        actions.append(_write(op, cells, versions))
    return actions


def _read(op: IssuedOp, cells: tuple[int, ...], wanted: list[int]) -> Action:
    source, bits = as_slice(cells), mask(cells)
    if source is not None:
        return Action(READ, op, source, values=wanted, read_mask=bits)
    return Action(SCATTER, op, values=wanted, pick=getter(cells), read_mask=bits)


def _write(op: IssuedOp, cells: tuple[int, ...], versions: list[int]) -> Action:
    target, bits = as_slice(cells), mask(cells)
    if target is not None:
        return Action(WRITE, op, target=target, values=versions, write_mask=bits)
    return Action(SCATTER, op, cells=cells, written=tuple(versions), write_mask=bits)


def _move(op: IssuedOp, half: int) -> Action:
    sources = tuple(front + half for front in op.reads[0])
    targets = tuple(front + half for front in op.writes[0])
    source, target, wanted = as_slice(sources), as_slice(targets), list(op.wanted[0])
    reads, writes = mask(sources), mask(targets)
    if len(sources) == 1:
        return Action(MOVE, op, sources[0], targets[0], wanted[0], read_mask=reads, write_mask=writes)
    if source is not None and target is not None:
        return Action(MOVE, op, source, target, wanted, read_mask=reads, write_mask=writes)
    return Action(SCATTER, op, values=wanted, pick=getter(sources), cells=targets, read_mask=reads, write_mask=writes)
