"""The history of one execution as the laws want it: operations in host issue order, marks read, who knew what.

Owns: making it of a trace in memory or of a stored one. Does not own: the laws. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, NamedTuple

from kernels.races.detector.detector import Detector, detect
from kernels.races.detector.race import Problem
from kernels.races.detector.reading import read_lines
from kernels.races.detector.stored import judge_file, lines_of
from kernels.races.laws.marks import Mark, NotAMark, is_mark, parse_mark
from kernels.substrate.collector import Touch
from kernels.substrate.columns import BufferFacts, Tables, buffer_facts
from kernels.substrate.trace import HostStep, MemoryTrace, Operation, page_intervals

Intervals = Sequence[tuple[int, int]]


class Touched(NamedTuple):
    """One access: pages (or bytes) as half-open intervals in walking order."""

    is_write: bool
    buffer: str
    layers: tuple[int, ...]
    intervals: tuple[tuple[int, int], ...]

    @property
    def page_count(self) -> int:
        """Pages of each layer."""
        return sum(end - begin for begin, end in self.intervals)

    @property
    def pages(self) -> Iterator[int]:
        return (page for begin, end in self.intervals for page in range(begin, end))


class Step(NamedTuple):
    """One copy or kernel. place: on its stream, from 1, records and waits counted."""

    operation: Operation
    place: int
    touched: tuple[Touched, ...]

    @property
    def ends(self) -> tuple[Touched, Touched] | None:
        """Source and target of a copy, page by page; None where it is something else."""
        reads = [touched for touched in self.touched if not touched.is_write]
        writes = [touched for touched in self.touched if touched.is_write]
        if self.operation.kind != "copy" or len(reads) != 1 or len(writes) != 1:
            return None
        return (reads[0], writes[0]) if reads[0].page_count == writes[0].page_count else None

    @property
    def ordinal(self) -> int:
        return self.operation.ordinal

    @property
    def label(self) -> str:
        return self.operation.label


@dataclass(frozen=True)
class History:
    """buffers: by name. steps: copies and kernels, marks: both in host issue order."""

    buffers: dict[str, BufferFacts]
    steps: tuple[Step, ...]
    marks: tuple[Mark, ...]
    mark_operations: dict[int, Operation]
    detector: Detector

    def marks_of(self, *kinds: str) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind in kinds]

    @cached_property
    def in_order(self) -> list[Step | Mark]:
        """Steps and marks together, as they were issued."""
        return sorted((*self.steps, *self.marks), key=lambda row: row.ordinal)

    def was_known(self, step: Step, mark: Mark) -> bool:
        """Whether the thread that said this knew that the operation was over."""
        known = self.detector.thread_knows(self.mark_operations[mark.ordinal])
        return known.get(self.detector.lane(step.operation.stream).index, 0) >= step.place


def history_of(trace: MemoryTrace) -> History:
    """The history of a trace that is kept in memory. Raises: NotAMark."""
    buffers = {buffer.name: buffer_facts(buffer) for buffer in trace.buffers}
    rows = [(operation, _touched(operation)) for operation in trace.operations]
    return _history(buffers, rows, detect(trace))


def stored_history(file: BinaryIO) -> History | Problem:
    """The history of a stored trace of either format, or where and why it cannot be read. Raises: NotAMark."""
    detector = judge_file(file)
    if detector.problems:
        return detector.problems[0]
    file.seek(0)
    kept = _Kept()
    problem = read_lines(lines_of(file), kept)
    return problem if problem is not None else _history(kept.buffers, kept.rows(), detector)


def _touched(operation: Operation) -> tuple[Touched, ...]:
    return tuple(
        Touched(is_write, region.buffer.name, region.layers, tuple(page_intervals(region.pages)))
        for is_write, region in operation.accesses
    )


def _history(
    buffers: dict[str, BufferFacts], rows: Iterable[tuple[Operation, tuple[Touched, ...]]], detector: Detector
) -> History:
    steps: list[Step] = []
    marks: list[Mark] = []
    said: dict[int, Operation] = {}
    places: dict[str, int] = {}
    for operation, touched in sorted(rows, key=lambda row: row[0].ordinal):
        place = places[operation.stream] = places.get(operation.stream, 0) + 1
        if is_mark(operation.label):
            mark = parse_mark(operation.label, operation.ordinal, operation.thread)
            for name in mark.buffers:
                if name not in buffers:
                    raise NotAMark(operation.ordinal, operation.label, f"there is no buffer '{name}'")
            marks.append(mark)
            said[operation.ordinal] = operation
        elif operation.kind in ("copy", "kernel"):
            steps.append(Step(operation, place, touched))
    return History(buffers, tuple(steps), tuple(marks), said, detector)


class _Kept:
    """Takes the rows of a stored trace and keeps them (a `TakesRows`)."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.buffers: dict[str, BufferFacts] = {}
        self._rows: list[tuple[Operation, Sequence[Touch]]] = []

    def declare(self, facts: BufferFacts) -> None:
        self.buffers[facts.name] = facts

    def operation(self, operation: Operation) -> None:
        self._rows.append((operation, ()))

    def touching(self, operation: Operation, touches: Sequence[Touch], *, by_host: bool = False) -> None:
        self._rows.append((operation, touches))

    def host(self, step: HostStep) -> None:
        """Host steps matter to the detector, which reads the file too."""

    def stale_row(self, row: dict[str, object]) -> None:
        """Bytes are another verdict."""

    def rows(self) -> Iterator[tuple[Operation, tuple[Touched, ...]]]:
        lists = self.tables.page_lists
        lists.settle()
        for operation, touches in self._rows:
            yield (
                operation,
                tuple(Touched(one.is_write, one.buffer, one.layers, lists.intervals(one.pages)) for one in touches),
            )
