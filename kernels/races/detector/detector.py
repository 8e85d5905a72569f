"""The detector: reads a trace once, front to back, and finds accesses that nothing orders.

Owns: taking rows, one by one or as columns, and the verdict. Does not own: who taught whom what (`order.py`), memory
and the races found in it (`memory.py`), names for what is missing. Floor 2b. Source: DESIGN.md section 2.

It is a trace sink: give it to a machine (with others, through `Tee`), or feed it the rows of a stored trace. Rows that
come one by one are judged together, when there are many, or when somebody asks.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernels.races.detector.clocks import Clock, Lane
from kernels.races.detector.memory import TracedMemory
from kernels.races.detector.order import HostLook, Order
from kernels.races.detector.race import Problem, Race, Verdict
from kernels.substrate.collector import Collector, Touch
from kernels.substrate.columns import STALE, BufferFacts, Columns, Tables, buffer_facts
from kernels.substrate.contract import Buffer, PageView
from kernels.substrate.trace import HostStep, MemoryTrace, Operation

_ROWS_TOGETHER = 65_536
_PROBLEMS_KEPT = 8


class Detector:
    """A trace sink that judges order."""

    def __init__(self, tables: Tables | None = None, *, first_row: int = 1) -> None:
        """tables: what the columns that it is fed refer to; its own for rows that come one by one.

        first_row: how the first of those is counted where problems are told; in a file it is its second line.
        """
        self.tables = Tables() if tables is None else tables
        self._collector = Collector(self.tables)
        self._rows = self._collector.rows
        self._judged_count = self._collector.row_count = first_row - 1
        self._stale_count = 0
        self._problems: list[Problem] = []
        self._order = Order(self.tables, self._blame)
        self._memory = TracedMemory(self.tables, self._blame)

    def __repr__(self) -> str:
        return f"Detector(rows={self.row_count}, {self._order}, {self._memory})"

    @property
    def row_count(self) -> int:
        return self._judged_count + len(self._rows)

    @property
    def stale_count(self) -> int:
        """Bytes are another verdict: counted, never mixed with order."""
        self._judge_kept()
        return self._stale_count

    @property
    def races(self) -> list[Race]:
        """One race for each (buffer, layer, pair of streams, pair of operation kinds), as found."""
        self._judge_kept()
        return self._memory.races

    @property
    def problems(self) -> list[Problem]:
        """Why the trace cannot be judged, in the order of its rows."""
        self._judge_kept()
        return self._problems

    @property
    def verdict(self) -> Verdict:
        if self.problems:
            return Verdict.UNKNOWN
        return Verdict.RACES if self._memory.races else Verdict.CLEAN

    @property
    def lanes(self) -> list[Lane]:
        """All lanes, with their records and waits."""
        self._judge_kept()
        return self._order.named_lanes()

    @property
    def looks(self) -> list[HostLook]:
        """Every time that a host thread learnt of a record."""
        self._judge_kept()
        return self._order.named_looks()

    @property
    def unarmed_looks(self) -> list[HostStep]:
        """Every time that a host thread was told yes because an event had no record."""
        self._judge_kept()
        return self._order.unarmed_looks()

    def lane(self, stream: str) -> Lane:
        """A stream's lane. Effect: makes it if there is none."""
        self._judge_kept()
        lane = self._order.lane(self.tables.texts[stream])
        self._order.named_lanes()
        return lane

    def thread_knows(self, operation: Operation) -> Clock:
        """What the issuing thread was ordered after when it issued this operation."""
        self._judge_kept()
        return self._order.thread(self.tables.texts[operation.thread]).known_at(operation.ordinal)

    @property
    def is_idle(self) -> bool:
        """Whether no row touched memory: then there is nothing to judge."""
        self._judge_kept()
        return self._memory.is_untouched

    def lanes_using(self, buffer: str) -> set[int]:
        """Indices of the lanes that touched a buffer."""
        self._judge_kept()
        return self._memory.lanes_using(buffer)

    # The sink.

    def buffer(self, buffer: Buffer) -> None:
        self.declare(buffer_facts(buffer))

    def operation(self, operation: Operation) -> None:
        rows = self._rows
        rows.append(operation)
        if len(rows) >= _ROWS_TOGETHER:
            self._judge_kept()

    def host(self, step: HostStep) -> None:
        self._rows.append(step)

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        self._collector.stale()

    # What a reader of stored traces feeds.

    def declare(self, facts: BufferFacts) -> None:
        """A buffer came into being."""
        self._collector.buffer(facts)

    def stale_row(self, row: dict[str, object]) -> None:
        """A row about bytes, as it stands in JSON Lines."""
        self._collector.stale()

    def touching(self, operation: Operation, touches: Sequence[Touch], *, by_host: bool = False) -> None:
        """An operation whose page lists are numbered; by_host: a host thread itself touched memory, and
        `operation.stream` is the thread's own lane."""
        self._collector.touching(operation, touches, by_host=by_host)
        if len(self._rows) >= _ROWS_TOGETHER:
            self._judge_kept()

    def judge(self, columns: Columns) -> None:
        """Take the next rows of a trace, all at once."""
        assert columns.first_row > self._judged_count, f"rows from {columns.first_row} are judged already"
        self._judged_count = columns.first_row + len(columns) - 1
        found = len(self._problems)
        self._stale_count += int((columns.kind == STALE).sum())
        self._memory.look(columns, self._order.follow(columns))
        self._problems = [*self._problems[:found], *sorted(self._problems[found:])][:_PROBLEMS_KEPT]

    def give_up(self, row: int, reason: str) -> None:
        """The trace cannot be read on from this row."""
        self._judge_kept()
        self._blame(row, reason)

    def _blame(self, row: int, reason: str) -> None:
        self._problems.append(Problem(row, reason))

    def _judge_kept(self) -> None:
        if self._rows:
            columns = self._collector.take()
            self._rows = self._collector.rows
            self.judge(columns)


def detect(trace: MemoryTrace) -> Detector:
    """Judge a trace that is kept in memory."""
    detector = Detector()
    for buffer in trace.buffers:
        detector.buffer(buffer)
    for row in trace.rows:
        if isinstance(row, Operation):
            detector.operation(row)
        else:
            detector.host(row)
    return detector
