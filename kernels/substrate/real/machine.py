"""A machine over a backend with real streams, on the wall clock.

Owns: what is true of an operation wherever it is issued, host threads, and settling: hearing from the streams what is
over, in an order in which everything that happens before comes first. Does not own: streams and memory. Floor 1.
Semantics: DESIGN.md section 2.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kernels.substrate.choices import Choices, SeededChoices
from kernels.substrate.contract import Delay, Event, HostProgram, Region, Versions
from kernels.substrate.cost import CostModel
from kernels.substrate.delays import DEFAULT_POINTS, InjectedDelays
from kernels.substrate.paged import PagedBuffer, gather
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.host import RealThread
from kernels.substrate.real.late import LateWatches
from kernels.substrate.real.stream import RealEvent, RealStream
from kernels.substrate.real.views import page_view
from kernels.substrate.real.work import Backend, CopyJob, Finished, KernelJob, Record, RecordJob, WaitJob
from kernels.substrate.sites import CallSites
from kernels.substrate.trace import OUTSIDE, HostKind, HostStep, Operation, TraceSink
from kernels.substrate.virtual.copying import CopyPrices

_SUBSTRATE_FOLDER = str(Path(__file__).parents[1])
_POLL_NS = 50_000
"""How long the host looks away while streams are busy."""


class RealMachine:
    """Streams really run at the same time; host programs run in the thread that calls `advance_to` or `run`."""

    def __init__(
        self,
        backend: Backend,
        cost: CostModel,
        *,
        seed: int = 0,
        delays: Sequence[Delay] = (),
        trace: TraceSink | None = None,
        known_points: Sequence[str] = DEFAULT_POINTS,
        clock: Clock | None = None,
        has_call_sites: bool = False,
    ) -> None:
        self.backend = backend
        self.cost = cost
        self.clock = clock or Clock()
        self.copy_prices = CopyPrices(cost)
        self.streams: dict[str, RealStream] = {}
        self.buffers: dict[str, PagedBuffer] = {}
        self.threads: list[RealThread] = []
        self._choices: Choices = SeededChoices(seed)
        self._trace = trace
        self._delays = InjectedDelays(delays, known_points)
        self._sites = CallSites(_SUBSTRATE_FOLDER) if has_call_sites else None
        self._late = LateWatches()
        self._operation_count = 0
        self._timer_count = 0
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._running: RealThread | None = None
        self._body_of: Operation | None = None
        self._polled_ns = 0
        self._is_interrupted = False

    def __repr__(self) -> str:
        return f"RealMachine({self.backend.name}, operations={self._operation_count}, streams={len(self.streams)})"

    # The contract.

    @property
    def now_ns(self) -> int:
        return self.clock.now_ns

    def buffer(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> PagedBuffer:
        assert name not in self.buffers, f"there is a buffer '{name}' already"
        buffer = PagedBuffer(name, space=space, layer_count=layer_count, page_count=page_count, page_bytes=page_bytes)
        buffer.call_sites = self._sites
        self.backend.adopt(buffer)
        self.buffers[name] = buffer
        if self._trace is not None:
            self._trace.buffer(buffer)
        return buffer

    def stream(self, name: str, *, device: int) -> RealStream:
        assert name not in self.streams, f"there is a stream '{name}' already"
        stream = self.streams[name] = RealStream(self, name, device, self.backend.lane(name, device))
        return stream

    def event(self, name: str) -> RealEvent:
        return RealEvent(name)

    def spawn(self, name: str, program: HostProgram) -> RealThread:
        self.assert_host("start a host thread")
        assert all(thread.name != name for thread in self.threads), f"there is a host thread '{name}' already"
        self.report_host("spawn", self.thread_name, other=name)
        thread = RealThread(self, name, program)
        self.threads.append(thread)
        return thread

    def wanted(self, region: Region) -> Versions:
        return gather(self.own(region).wanted, region).reshape(len(region.layers), len(region.pages))

    def landed(self, region: Region) -> Versions:
        assert self._body_of is None, f"kernel {self._body_of!r} looked at memory that it did not declare"
        buffer = self.own(region)
        return self.backend.look(buffer, region).tail.reshape(len(region.layers), len(region.pages))

    # Time.

    def next_time_ns(self) -> int | None:
        """When to call `advance_to` again: the next timer, or soon while streams are busy; None for never."""
        due_ns = self._timers[0][0] if self._timers else None
        if not any(stream.lane.outstanding for stream in self.streams.values()):
            return due_ns
        poll_ns = self._polled_ns + _POLL_NS
        return poll_ns if due_ns is None else min(due_ns, poll_ns)

    def advance_to(self, time_ns: int) -> None:
        """Hear from the streams, and run every host step that is due by now. Returns at once; `time_ns` is not awaited.

        Returns early once `interrupt` was called during it.
        """
        self._is_interrupted = False
        self.settle()
        while self._timers and self._timers[0][0] <= max(time_ns, self.now_ns) and not self._is_interrupted:
            heapq.heappop(self._timers)[2]()
            self.settle()

    def interrupt(self) -> None:
        self._is_interrupted = True

    def run(self) -> None:
        """Until every stream is idle and no timer is left."""
        while (due_ns := self.next_time_ns()) is not None:
            if due_ns > self.now_ns:
                self.clock.give_way()
            self.advance_to(self.now_ns)

    def blocked(self) -> list[str]:
        """One sentence for everything that is unfinished."""
        stuck = [
            f"{stream.name} stands at {stream.lane.outstanding[0].label}"
            for stream in self.streams.values()
            if stream.lane.outstanding
        ]
        return stuck + [f"{thread.name} waits for {thread.waits_for}" for thread in self.threads if not thread.is_over]

    def close(self) -> None:
        """Wait for the streams and give the memory back."""
        self.backend.close()

    def at(self, time_ns: int, act: Callable[[], None]) -> None:
        """Call `act` in the host's thread, not before this time."""
        self._timer_count += 1
        heapq.heappush(self._timers, (time_ns, self._timer_count, act))

    # Settling.

    def settle(self) -> None:
        """Take in everything that the streams have finished."""
        self._polled_ns = self.now_ns
        is_quiet = False
        while not is_quiet:
            is_quiet = True
            for stream in list(self.streams.values()):
                while (finished := stream.lane.next_finished()) is not None:
                    is_quiet = False
                    self._take(finished)

    def _take(self, finished: Finished) -> None:
        job, operation = finished.job, finished.job.operation
        if isinstance(job, WaitJob) and job.record is not None:
            # The stream went on, so the record is complete, but its own stream may not have been asked yet.
            self._settle_record(job.record)
        operation.start_ns, operation.end_ns = finished.start_ns, finished.end_ns
        if self._trace is not None:
            self._trace.operation(operation)
        if isinstance(job, RecordJob):
            job.record.is_settled = True
            for thread in self.threads:
                thread.hear(job.record)
        elif isinstance(job, CopyJob):
            self._late.landed(job.target, finished.end_ns)
        elif isinstance(job, KernelJob):
            for write in job.writes:
                self._late.landed(write, finished.end_ns)
            self._show(job, finished)

    def _settle_record(self, record: Record) -> None:
        lane = self.streams[record.stream].lane
        while not record.is_settled:
            finished = lane.next_finished()
            if finished is not None:
                self._take(finished)

    def _show(self, job: KernelJob, finished: Finished) -> None:
        views = [page_view(read, sight) for read, sight in zip(job.reads, finished.sights, strict=True)]
        for index, view in enumerate(views):
            if view.stale.any():
                self._late.watch(view, finished.start_ns + job.operation.delay_ns)
                if self._trace is not None:
                    self._trace.stale(job.operation, index, view)
        if job.body is not None:
            self._body_of = job.operation
            try:
                job.body(views)
            finally:
                self._body_of = None

    # What every operation needs.

    @property
    def thread_name(self) -> str:
        return OUTSIDE if self._running is None else self._running.name

    @contextmanager
    def running(self, thread: RealThread) -> Iterator[None]:
        assert self._running is None, f"{thread.name} was resumed while {self._running!r} runs"
        self._running = thread
        try:
            yield
        finally:
            self._running = None

    def issue(self, label: str) -> tuple[int, str, int]:
        """An operation is issued. Returns its ordinal, the issuing thread, and the time."""
        assert self._body_of is None, f"kernel {self._body_of!r} tried to issue {label}: only the host can"
        self._operation_count += 1
        return self._operation_count, self.thread_name, self.now_ns

    def assert_host(self, what: str) -> None:
        assert self._body_of is None, f"kernel {self._body_of!r} tried to {what}: only the host can, after an event"

    def own(self, region: Region) -> PagedBuffer:
        """The region's buffer. Asserts that the region lies in it: an access to anything else is undeclared."""
        buffer = region.buffer
        assert isinstance(buffer, PagedBuffer), f"{buffer!r} is no buffer of a real machine"
        buffer.check(region)
        return buffer

    def own_event(self, event: Event) -> RealEvent:
        assert isinstance(event, RealEvent), f"{event!r} is no event of a real machine"
        return event

    def check_point(self, point: str) -> None:
        self._delays.check(point)

    def delay_ns(self, key: str, point: str, layer: int | None) -> int:
        return self._delays.sample_ns(self._choices, key, point, layer)

    def locate(self, operation: Operation) -> None:
        """Note where the host issues this operation, if the machine was told to look."""
        if self._sites is not None:
            self._sites.note(operation)

    def report_host(
        self,
        kind: HostKind,
        thread: str,
        *,
        record: Record | None = None,
        event: str = "",
        other: str = "",
        answer: bool = True,
        wakes: tuple[int, ...] = (),
    ) -> None:
        if self._trace is not None:
            generation = 0 if record is None else record.generation
            step = (kind, thread, self.now_ns, event, generation, other, answer, wakes, self._operation_count)
            self._trace.host(HostStep(*step))
