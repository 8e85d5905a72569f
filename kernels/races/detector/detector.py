"""The detector: reads a trace once, front to back, and finds accesses that nothing orders.

Owns: which row teaches whom what: stream order, host issue order, events, host threads. Does not own: clocks, memory
and the races found in it, names for what is missing. Floor 2b.
Source: FastTrack on the event algebra of DESIGN.md section 2.

It is a trace sink: give it to a machine (with others, through `Tee`), or feed it the rows of a stored trace. The edges:
    stream order     an operation follows all before it on its stream
    issue            an operation follows everything its issuing thread was ordered after when it issued it
    event            a wait follows the record it was bound to when it was issued; generation 0 gives no edge
    until, query     teach the calling thread only; a query only where the answer was yes
    spawn, wake      the new or woken thread takes over what the other one knew
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kernels.races.detector.clocks import NOTHING, Clock, Lane, Record, ThreadClock, Wait, joined, joined_record
from kernels.races.detector.memory import Touch, TracedMemory
from kernels.races.detector.race import Problem, Race, Verdict
from kernels.substrate.contract import Buffer, PageView
from kernels.substrate.trace import HostStep, MemoryTrace, Operation


class HostLook(NamedTuple):
    """A host thread learnt that a record is over: by `until`, or by a query that said yes."""

    step: HostStep
    record: Record


class Detector:
    """A trace sink that judges order. Does not keep rows, except records, waits and what they order."""

    def __init__(self) -> None:
        self.row_count = 0
        self.stale_count = 0
        self.problems: list[Problem] = []
        self.lanes: list[Lane] = []
        self.looks: list[HostLook] = []
        self.memory = TracedMemory(self.blame)
        self.records: dict[tuple[str, int], Record] = {}
        self._lane_of: dict[str, Lane] = {}
        self._threads: dict[str, ThreadClock] = {}
        self._wakes: dict[tuple[str, int], ThreadClock] = {}

    def __repr__(self) -> str:
        return f"Detector(rows={self.row_count}, lanes={len(self.lanes)}, {self.memory}, {self.verdict})"

    @property
    def races(self) -> list[Race]:
        """One race for each (buffer, layer, pair of streams, pair of operation kinds), as found."""
        return list(self.memory.found.values())

    @property
    def verdict(self) -> Verdict:
        if self.problems:
            return Verdict.UNKNOWN
        return Verdict.RACES if self.memory.found else Verdict.CLEAN

    def lane(self, stream: str) -> Lane:
        """A stream's lane. Effect: makes it if there is none."""
        lane = self._lane_of.get(stream)
        if lane is None:
            lane = self._lane_of[stream] = Lane(stream, len(self.lanes))
            self.lanes.append(lane)
        return lane

    def thread_knows(self, operation: Operation) -> Clock:
        """What the issuing thread was ordered after when it issued this operation."""
        thread = self._threads.get(operation.thread)
        return NOTHING if thread is None else thread.known_at(operation.ordinal)

    # The sink.

    def buffer(self, buffer: Buffer) -> None:
        self.row_count += 1
        self.declare(buffer.name, buffer.layer_count, buffer.page_count)

    def declare(self, name: str, layer_count: int, page_count: int) -> None:
        """A buffer came into being; page_count 0: it is accessed by bytes."""
        self.memory.declare(name, layer_count, page_count)

    def operation(self, operation: Operation) -> None:
        self.row_count += 1
        lane = self._enter(operation)
        kind = operation.kind
        if kind == "wait":
            self._wait(lane, operation)
            return
        if kind == "record":
            self._record(lane, operation)
            return
        self.memory.access(lane, operation)

    def host(self, step: HostStep) -> None:
        self.row_count += 1
        kind = step.kind
        if kind in ("until", "query"):
            if step.generation and step.answer:
                record = self.records.get((step.event, step.generation))
                if record is None:
                    self.blame(f"{step.thread} saw record {step.generation} of {step.event}, which has not been made")
                    return
                self.looks.append(HostLook(step, record))
                thread = self._thread(step.thread)
                known = joined_record(thread.known, record)
                if known is not thread.known:
                    thread.learn(step.issued, known)
        elif kind == "spawn":
            self._teach(step.other, step.issued, self._thread(step.thread))
        elif kind == "wake":
            source, told = self._thread(step.thread), ThreadClock(step.thread)
            told.known = source.known
            self._wakes[step.other, step.wakes[0]] = told
        elif kind == "park":
            for number in step.wakes:
                told_by = self._wakes.pop((step.thread, number), None)
                if told_by is None:
                    self.blame(f"{step.thread} was ended by wake {number}, which nobody made")
                    return
                self._teach(step.thread, step.issued, told_by)

    def stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        """Bytes are another verdict: counted, never mixed with order."""
        self.row_count += 1
        self.stale_count += 1

    # What a reader of foreign traces feeds as well.

    def touching(self, operation: Operation, touches: Iterable[Touch]) -> None:
        """An operation whose footprints are worked out already, by pages or by bytes."""
        self.row_count += 1
        self.memory.touch(self._enter(operation), operation, touches)

    def host_touching(self, operation: Operation, touches: Iterable[Touch]) -> None:
        """A host thread itself touched memory; `operation.stream` is the thread's own lane."""
        self.row_count += 1
        lane = self._enter(operation)
        self.memory.touch(lane, operation, touches)
        thread = self._thread(operation.thread)
        thread.learn(operation.ordinal, {**thread.known, lane.index: lane.count})

    def blame(self, reason: str) -> None:
        """The trace cannot be judged, because of its current row."""
        self.problems.append(Problem(self.row_count, reason))

    # Edges.

    def _enter(self, operation: Operation) -> Lane:
        """An operation takes its place in its lane, and the lane hears what the issuing thread knew."""
        lane = self._lane_of.get(operation.stream) or self.lane(operation.stream)
        lane.count += 1
        thread = self._threads.get(operation.thread)
        if thread is not None:
            ordinal = operation.ordinal
            known = thread.known if ordinal > thread.since else thread.known_at(ordinal)
            if known is not lane.heard:
                lane.heard = known
                lane.known = joined(lane.known, known)
        return lane

    def _record(self, lane: Lane, operation: Operation) -> None:
        record = Record(lane, lane.count, lane.known, operation)
        key = (operation.event, operation.generation)
        if key in self.records:
            self.blame(f"record {operation.generation} of {operation.event} was made twice: two events with one name?")
        self.records[key] = record
        lane.records.append(record)

    def _wait(self, lane: Lane, operation: Operation) -> None:
        if not operation.generation:
            lane.waits.append(Wait(lane.count, operation, None))
            return
        record = self.records.get((operation.event, operation.generation))
        if record is None:
            self.blame(
                f"{lane.name} waited for record {operation.generation} of {operation.event}, which has not been made"
            )
            return
        lane.known = joined_record(lane.known, record)
        lane.waits.append(Wait(lane.count, operation, record))

    def _thread(self, name: str) -> ThreadClock:
        thread = self._threads.get(name)
        if thread is None:
            thread = self._threads[name] = ThreadClock(name)
        return thread

    def _teach(self, name: str, issued: int, teacher: ThreadClock) -> None:
        if teacher.known is not NOTHING:
            thread = self._thread(name)
            known = joined(thread.known, teacher.known)
            if known is not thread.known:
                thread.learn(issued, known)


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
