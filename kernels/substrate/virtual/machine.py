"""The virtual machine: the front door to streams, events, buffers and host threads over one timeline.

Owns: what is true of an operation wherever it is issued (ordinal, issuing thread, host cost, delays, jitter, call site,
trace). Does not own: time, streams, links, memory or threads, each in its file. Floor 1.
Semantics: DESIGN.md section 2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kernels.substrate.choices import Choices, SeededChoices
from kernels.substrate.contract import (
    Delay,
    Event,
    HostProgram,
    KernelBody,
    PageView,
    Region,
    Versions,
)
from kernels.substrate.cost import CostModel
from kernels.substrate.delays import DEFAULT_POINTS, InjectedDelays
from kernels.substrate.paged import gather
from kernels.substrate.sites import CallSites
from kernels.substrate.trace import OUTSIDE, HostKind, HostStep, Operation, TraceSink
from kernels.substrate.virtual.copying import CopyPrices, Links
from kernels.substrate.virtual.host import VirtualThread
from kernels.substrate.virtual.landing import contents
from kernels.substrate.virtual.memory import VirtualBuffer
from kernels.substrate.virtual.reading import WholePages
from kernels.substrate.virtual.stream import VirtualStream
from kernels.substrate.virtual.timeline import Timeline
from kernels.substrate.virtual.work import VirtualEvent

_SUBSTRATE_FOLDER = str(Path(__file__).parents[1])


class VirtualMachine:
    """A deterministic machine in virtual time. Same seed, same program: same trace."""

    def __init__(
        self,
        cost: CostModel,
        *,
        seed: int = 0,
        delays: Sequence[Delay] = (),
        trace: TraceSink | None = None,
        known_points: Sequence[str] = DEFAULT_POINTS,
        choices: Choices | None = None,
        has_call_sites: bool = False,
    ) -> None:
        self.cost = cost
        self.timeline = Timeline()
        self.at = self.timeline.at
        self.choices: Choices = SeededChoices(seed) if choices is None else choices
        self.links = Links(self, cost)
        self.copy_prices = CopyPrices(cost)
        self.whole_pages = WholePages()
        self.streams: list[VirtualStream] = []
        self.buffers: list[VirtualBuffer] = []
        self.threads: list[VirtualThread] = []
        # Numbers that every operation needs, out of the cost model once.
        self.enqueue_ns = cost.enqueue_ns
        self.event_ns = cost.event_ns
        self.launch_ns = cost.launch_ns
        self.copy_sigma = cost.jitter.copy.value
        self.compute_sigma = cost.jitter.compute.value
        self._trace = trace
        self._delays = InjectedDelays(delays, known_points)
        self._sites = CallSites(_SUBSTRATE_FOLDER) if has_call_sites else None
        self._operation_count = 0
        self._running: VirtualThread | None = None
        self._body_of: Operation | None = None
        self._ready: deque[VirtualStream] = deque()
        self._is_draining = False

    def __repr__(self) -> str:
        return (
            f"VirtualMachine({self.timeline!r}, operations={self._operation_count}, streams={len(self.streams)}, "
            f"buffers={len(self.buffers)}, threads={len(self.threads)})"
        )

    # The contract.

    @property
    def now_ns(self) -> int:
        """The instant that is being processed, also while a thread's own clock runs ahead of it."""
        return self.timeline.now_ns

    def buffer(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> VirtualBuffer:
        assert all(buffer.name != name for buffer in self.buffers), f"there is a buffer '{name}' already"
        buffer = VirtualBuffer(name, space=space, layer_count=layer_count, page_count=page_count, page_bytes=page_bytes)
        buffer.call_sites = self._sites
        self.buffers.append(buffer)
        if self._trace is not None:
            self._trace.buffer(buffer)
        return buffer

    def stream(self, name: str, *, device: int) -> VirtualStream:
        assert all(stream.name != name for stream in self.streams), f"there is a stream '{name}' already"
        stream = VirtualStream(self, name, device)
        self.streams.append(stream)
        return stream

    def event(self, name: str) -> VirtualEvent:
        return VirtualEvent(name)

    def spawn(self, name: str, program: HostProgram) -> VirtualThread:
        self.assert_host("start a host thread")
        assert all(thread.name != name for thread in self.threads), f"there is a host thread '{name}' already"
        self.report_host("spawn", self.thread_name, self.host_ns, other=name)
        thread = VirtualThread(self, name, program, self.host_ns)
        self.threads.append(thread)
        return thread

    def wanted(self, region: Region) -> Versions:
        shape = (len(region.layers), len(region.pages))
        return gather(self.own(region).wanted, region).reshape(shape)

    def landed(self, region: Region) -> Versions:
        assert self._body_of is None, f"kernel {self._body_of!r} looked at memory that it did not declare"
        buffer = self.own(region)
        shape = (len(region.layers), len(region.pages))
        now = np.full(shape[0] * shape[1], self.timeline.now_ns, dtype=np.int64)
        return contents(buffer, region, now).tail.reshape(shape)

    # Time.

    def next_time_ns(self) -> int | None:
        """The next instant at which something happens, None where nothing will."""
        return self.timeline.next_time_ns()

    def advance_to(self, time_ns: int) -> None:
        """Process every event up to and including this time; then it is this time, unless something interrupted.

        One call may cover any span: stop at the next moment at which somebody outside has something to do.
        """
        self.timeline.advance_to(time_ns)

    def run(self) -> None:
        """Process events until none is left, or something interrupts."""
        self.timeline.run()

    def interrupt(self) -> None:
        """Make the running `advance_to` return when the current instant is over."""
        self.timeline.interrupt()

    def blocked(self) -> list[str]:
        """One sentence for everything that is unfinished: what to print when nothing will ever happen again."""
        stuck = [f"{stream.name} stands at {stream.queued[0].label}" for stream in self.streams if stream.queued]
        return stuck + [f"{thread.name} waits for {thread.waits_for}" for thread in self.threads if not thread.is_over]

    def drain(self, stream: VirtualStream) -> None:
        """Let a stream run on; streams that it sets free follow, one after another."""
        self._ready.append(stream)
        if self._is_draining:
            return
        self._is_draining = True
        while self._ready:
            self._ready.popleft().advance()
        self._is_draining = False

    # What every operation needs.

    @property
    def host_ns(self) -> int:
        """The clock of whoever is issuing work."""
        return self.timeline.now_ns if self._running is None else self._running.clock_ns

    @property
    def thread_name(self) -> str:
        return OUTSIDE if self._running is None else self._running.name

    @contextmanager
    def running(self, thread: VirtualThread) -> Iterator[None]:
        assert self._running is None, f"{thread.name} was resumed while {self._running!r} runs"
        self._running = thread
        try:
            yield
        finally:
            self._running = None

    def host_call(self, cost_ns: int) -> int:
        """The issuing thread makes a call that takes this long. Returns when it is over."""
        thread = self._running
        if thread is None:
            return self.timeline.now_ns
        thread.clock_ns += cost_ns
        return thread.clock_ns

    def issue(self, label: str, cost_ns: int) -> tuple[int, str, int]:
        """An operation is issued by a host call that takes `cost_ns`, starting now; set-up work costs nothing.

        Returns its ordinal, the issuing thread, and when the call is over.
        """
        assert self._body_of is None, f"kernel {self._body_of!r} tried to issue {label}: only the host can"
        self._operation_count += 1
        thread = self._running
        if thread is None:
            return self._operation_count, OUTSIDE, self.timeline.now_ns
        thread.clock_ns += cost_ns
        return self._operation_count, thread.name, thread.clock_ns

    def assert_host(self, what: str) -> None:
        assert self._body_of is None, f"kernel {self._body_of!r} tried to {what}: only the host can, after an event"

    def own(self, region: Region) -> VirtualBuffer:
        """The region's buffer. Asserts that the region lies in it: an access to anything else is undeclared."""
        buffer = region.buffer
        assert isinstance(buffer, VirtualBuffer), f"{buffer!r} is no buffer of a virtual machine"
        buffer.check(region)
        return buffer

    def own_event(self, event: Event) -> VirtualEvent:
        assert isinstance(event, VirtualEvent), f"{event!r} is no event of a virtual machine"
        return event

    def check_point(self, point: str) -> None:
        self._delays.check(point)

    def delay_ns(self, point: str, layer: int | None, key: str) -> int:
        return self._delays.sample_ns(self.choices, key, point, layer)

    def host_delay_ns(self, thread: str, point: str) -> int:
        if not point:
            return 0
        self.check_point(point)
        return self.delay_ns(point, None, f"{thread}/{point}")

    def run_body(self, operation: Operation, body: KernelBody, views: list[PageView]) -> None:
        """Run a kernel's body: it has its views, and nothing else of the machine."""
        self._body_of = operation
        try:
            body(views)
        finally:
            self._body_of = None

    def locate(self, operation: Operation) -> None:
        """Note where the host issues this operation, if the machine was told to look."""
        if self._sites is not None:
            self._sites.note(operation)

    def report(self, operation: Operation) -> None:
        if self._trace is not None:
            self._trace.operation(operation)

    def report_host(
        self,
        kind: HostKind,
        thread: str,
        time_ns: int,
        *,
        event: str = "",
        generation: int = 0,
        other: str = "",
        answer: bool = True,
        wakes: tuple[int, ...] = (),
    ) -> None:
        if self._trace is not None:
            issued = self._operation_count
            self._trace.host(HostStep(kind, thread, time_ns, event, generation, other, answer, wakes, issued))

    def report_stale(self, operation: Operation, read_index: int, view: PageView) -> None:
        if self._trace is not None:
            self._trace.stale(operation, read_index, view)
