"""A stream of the threaded substrate: an OS thread that does one job after another.

Owns: the thread, and how it does each kind of job. Does not own: memory, chaos, meaning. Floor 1.

Bytes move for real, in pieces, while the other threads run. How long a job takes is the modelled machine's time: a copy
is paced so that its last piece lands when the cost model says, a kernel reads at its front and writes at its end. Where
the threads fall behind that pace, they are late, as on any busy machine.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from queue import SimpleQueue

import numpy as np

from kernels.substrate.paged import PagedBuffer
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.work import CopyJob, Finished, Job, KernelJob, RecordJob, WaitJob
from kernels.substrate.threaded.chaos import StreamChaos
from kernels.substrate.threaded.memory import WORDS, PageWords
from kernels.substrate.trace import Operation

_PIECE_NS = 100_000
"""Sleeping is no finer than this, so a copy is cut into pieces of about this length, but into two at least."""


class ThreadedLane:
    """The lane of one stream."""

    def __init__(
        self,
        name: str,
        memory: Mapping[str, PageWords],
        clock: Clock,
        chaos: StreamChaos | None,
    ) -> None:
        self._memory = memory
        self._clock = clock
        self._chaos = chaos
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._finished: deque[Finished] = deque()
        self._outstanding: deque[Operation] = deque()
        self._life: Future[None] = Future()
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()

    # The host's side.

    def submit(self, job: Job) -> None:
        self._raise_failure()
        if isinstance(job, RecordJob):
            job.record.flag = threading.Event()
        self._outstanding.append(job.operation)
        self._jobs.put(job)

    def next_finished(self) -> Finished | None:
        if not self._finished:
            self._raise_failure()
            return None
        self._outstanding.popleft()
        return self._finished.popleft()

    @property
    def outstanding(self) -> Sequence[Operation]:
        return self._outstanding

    def stop(self) -> None:
        """Let the thread end when it has done what it was given."""
        self._jobs.put(None)

    def join(self) -> None:
        """Wait for that end. Raises: what the thread died of."""
        self._thread.join()
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._life.done():
            self._life.result()

    # The thread's side.

    def _live(self) -> None:
        try:
            self._work()
            self._life.set_result(None)
        except Exception as failure:
            # The host raises it at its next call.
            self._life.set_exception(failure)

    def _work(self) -> None:
        do: Mapping[type, Callable[..., Finished]] = {
            CopyJob: self._copy,
            KernelJob: self._kernel,
            RecordJob: self._record,
            WaitJob: self._wait,
        }
        while (job := self._jobs.get()) is not None:
            start_ns = self._clock.now_ns
            self._hold(start_ns + job.operation.delay_ns)
            finished = do[type(job)](job, start_ns)
            # Before the flag: who hears the flag must find the record finished.
            self._finished.append(finished)
            if isinstance(job, RecordJob):
                job.record.flag.set()

    def _hold(self, until_ns: int) -> None:
        if self._chaos is not None:
            until_ns = max(until_ns, self._clock.now_ns) + self._chaos.pause_ns()
        self._clock.sleep_until(until_ns)

    def _record(self, job: RecordJob, start_ns: int) -> Finished:
        return Finished(job, start_ns, self._clock.now_ns)

    def _wait(self, job: WaitJob, start_ns: int) -> Finished:
        if job.record is not None:
            job.record.flag.wait()
        return Finished(job, start_ns, self._clock.now_ns)

    def _kernel(self, job: KernelJob, start_ns: int) -> Finished:
        begin_ns = self._clock.now_ns
        sights = [self._words(read.buffer).sight(read.region) for read in job.reads]
        self._hold(begin_ns + job.duration_ns)
        for write in job.writes:
            self._words(write.buffer).write(write.region, write.versions)
        return Finished(job, start_ns, self._clock.now_ns, sights)

    def _copy(self, job: CopyJob, start_ns: int) -> Finished:
        begin_ns = self._clock.now_ns
        source, target = self._words(job.source.buffer).words, self._words(job.target.buffer).words
        walk = [
            (source[layer], target[other])
            for layer, other in zip(job.source.region.layers, job.target.region.layers, strict=True)
        ]
        sources, targets = job.source.region.pages, job.target.region.pages
        total = len(walk) * len(sources) * WORDS
        # An odd number of words, so that pieces end inside pages.
        piece = total // max(2, job.pace_ns // _PIECE_NS) | 1
        for done in range(0, total, piece):
            for index, begin, end in _cut(done, min(total, done + piece)):
                layer, page = divmod(index, len(sources))
                np.copyto(walk[layer][1][targets[page], begin:end], walk[layer][0][sources[page], begin:end])
            self._hold(begin_ns + job.pace_ns * min(total, done + piece) // total)
        return Finished(job, start_ns, self._clock.now_ns)

    def _words(self, buffer: PagedBuffer) -> PageWords:
        return self._memory[buffer.name]


def _cut(begin: int, end: int) -> list[tuple[int, int, int]]:
    """Words [begin, end) of a walk over pages, page by page: (number of the page, first word, behind the last word)."""
    return [
        (index, max(begin - index * WORDS, 0), min(end - index * WORDS, WORDS))
        for index in range(begin // WORDS, -(-end // WORDS))
    ]
