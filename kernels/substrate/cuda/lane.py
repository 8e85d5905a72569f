"""A stream of the CUDA substrate: a CuPy stream, and what the device is asked to do for each job.

Owns: the launches of a job and hearing that it is over. Does not own: memory, kernels, meaning. Floor 1.

A kernel of the simulator is, on the device: an injected delay, one look at each declared read, a spin for the time that
the kernel takes, and the writes. A copy moves the pages themselves, by the gather kernel or by one copy a run of pages.
`wait` and `record` are the device's own: what they mean on an event that was never recorded, or was recorded again, is
CUDA's answer, not ours.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.pages import copy_pages
from kernels.arrays.cuda.versions import WORD_BYTES, Seen, read_versions, write_versions
from kernels.substrate.cuda.devices import DeviceFault
from kernels.substrate.cuda.memory import PoolMemory
from kernels.substrate.cuda.staging import Staging
from kernels.substrate.paged import PagedBuffer
from kernels.substrate.real.clock import Clock
from kernels.substrate.real.work import Access, CopyJob, Finished, Job, KernelJob, RecordJob, Sight, WaitJob
from kernels.substrate.trace import Operation
from kernels.substrate.virtual.copying import run_lengths

_ANY_TO_ANY = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Pending:
    """A job on the device. done: recorded behind its last launch. places: how many of the staging ring it holds.

    sights: where each read's findings begin in the ring.
    """

    job: Job
    done: Any
    places: int
    sights: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceEvent:
    """The device's own event of one name. CUDA lets only streams of the event's device record it."""

    device: int
    event: Any


class CudaLane:
    """The lane of one stream."""

    def __init__(
        self,
        name: str,
        kernels: Kernels,
        memory: Mapping[str, PoolMemory],
        events: dict[str, DeviceEvent],
        clock: Clock,
        gather_blocks: int,
    ) -> None:
        """events: the device's event of each name, shared by all lanes. The lane's device is current."""
        import cupy

        self.name = name
        self._cupy = cupy
        self._device = cupy.cuda.Device()
        self._kernels = kernels
        self._memory = memory
        self._events = events
        self._clock = clock
        self._gather_blocks = gather_blocks
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._staging = Staging()
        self._pending: deque[_Pending] = deque()
        self._operations: deque[Operation] = deque()
        self._spare: list[Any] = []
        # Device time and host time meet here, and again at every job: intervals are exact, and errors do not add up.
        self._last = cupy.cuda.Event()
        self._last.record(self._stream)
        self._last.synchronize()
        self._last_ns = clock.now_ns
        self._do: Mapping[type, Callable[..., Sequence[int]]] = {
            CopyJob: self._copy,
            KernelJob: self._kernel,
            RecordJob: self._record,
            WaitJob: self._wait,
        }

    def submit(self, job: Job) -> None:
        places = len(self._staging)
        with self._device, self._stream:
            self._spin(job.operation.delay_ns)
            sights = self._do[type(job)](job)
            done = self._spare.pop() if self._spare else self._cupy.cuda.Event()
            done.record(self._stream)
        self._pending.append(_Pending(job, done, len(self._staging) - places, sights))
        self._operations.append(job.operation)

    def next_finished(self) -> Finished | None:
        """Raises: DeviceFault where the device has failed."""
        if not self._pending:
            return None
        pending = self._pending[0]
        try:
            if not pending.done.done:
                return None
            lasted_ns = round(self._cupy.cuda.get_elapsed_time(self._last, pending.done) * 1e6)
        except self._cupy.cuda.runtime.CUDARuntimeError as error:
            raise DeviceFault(stream=self.name, operation=pending.job.operation.label, reason=str(error)) from error
        self._pending.popleft()
        self._operations.popleft()
        start_ns = max(self._last_ns, pending.job.operation.issue_ns)
        end_ns = max(start_ns, self._last_ns + lasted_ns)
        self._spare.append(self._last)
        self._last, self._last_ns = pending.done, end_ns
        sights = self._sights(pending)
        for _ in range(pending.places):
            self._staging.free_oldest()
        return Finished(pending.job, start_ns, end_ns, sights)

    @property
    def outstanding(self) -> Sequence[Operation]:
        return self._operations

    def synchronize(self) -> None:
        """Block the host until the device has done everything."""
        self._stream.synchronize()

    # What each kind of job is on the device.

    def _record(self, job: RecordJob) -> Sequence[int]:
        event = self._events.get(job.record.event)
        if event is None or event.device != self._device.id:
            event = self._events[job.record.event] = DeviceEvent(self._device.id, _plain_event(self._cupy))
        event.event.record(self._stream)
        return ()

    def _wait(self, job: WaitJob) -> Sequence[int]:
        event = self._events.get(job.operation.event)
        if event is None:
            event = self._events[job.operation.event] = DeviceEvent(self._device.id, _plain_event(self._cupy))
        self._stream.wait_event(event.event)
        return ()

    def _kernel(self, job: KernelJob) -> Sequence[int]:
        arrays = [array for access in (*job.reads, *job.writes) for array in _ids(access)]
        arrays += [write.versions for write in job.writes]
        sent = self._staging.send(arrays, self._stream) if arrays else []
        begins = [self._look(read, *sent[2 * index : 2 * index + 2]) for index, read in enumerate(job.reads)]
        self._spin(job.duration_ns)
        read_count, write_count = len(job.reads), len(job.writes)
        for index, write in enumerate(job.writes):
            layers, pages = sent[2 * (read_count + index) : 2 * (read_count + index) + 2]
            versions = sent[2 * (read_count + write_count) + index].reshape(len(layers), len(pages))
            write_versions(self._kernels, self._of(write.buffer).paged(), layers, pages, versions)
        return begins

    def _look(self, read: Access, layers: Any, pages: Any) -> int:
        """Look at the pages of one read; the findings go straight to the host. Returns: where they begin."""
        count = len(layers) * len(pages)
        begin = self._staging.take(4 * count)
        columns = [np.uint64(self._staging.pinned_address(begin + column * count)) for column in range(4)]
        read_versions(self._kernels, self._of(read.buffer).paged(), layers, pages, Seen(*columns))
        return begin

    def _sights(self, pending: _Pending) -> list[Sight]:
        job = pending.job
        return (
            []
            if not isinstance(job, KernelJob)
            else [self._sight(read, begin) for read, begin in zip(job.reads, pending.sights, strict=True)]
        )

    def _sight(self, read: Access, begin: int) -> Sight:
        count = len(read.versions)
        head, tail, tear, _ = self._staging.words[begin : begin + 4 * count].reshape(4, count)
        words = self._of(read.buffer).page_bytes // WORD_BYTES
        return Sight(head.copy(), tail.copy(), (tear / words).astype(np.float32))

    def _copy(self, job: CopyJob) -> Sequence[int]:
        source, target = self._of(job.source.buffer), self._of(job.target.buffer)
        layer_pairs = list(zip(job.source.region.layers, job.target.region.layers, strict=True))
        if not len(job.source.region.pages):
            return ()
        if job.operation.io == "direct":
            self._copy_runs(job, source, target, layer_pairs)
            return ()
        pages = self._staging.send([job.source.region.pages, job.target.region.pages], self._stream)
        crosses_bus = source.device is None or target.device is None
        blocks = self._gather_blocks if crosses_bus else None
        for first, other, count in _neighbours(layer_pairs):
            ends = source.pool(first, count), pages[0], target.pool(other, count), pages[1]
            copy_pages(self._kernels, *ends, block_count=blocks)
        # The bytes that a smaller page leaves out take their time all the same.
        self._spin(job.pace_ns - job.pace_ns // source.divisor)
        return ()

    def _copy_runs(
        self, job: CopyJob, source: PoolMemory, target: PoolMemory, layer_pairs: Sequence[tuple[int, int]]
    ) -> None:
        sources, targets = job.source.region.pages, job.target.region.pages
        lengths = run_lengths(sources, targets)
        firsts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        for layer, other in layer_pairs:
            for first, length in zip(firsts.tolist(), lengths.tolist(), strict=True):
                self._cupy.cuda.runtime.memcpyAsync(
                    target.address + other * target.layer_bytes + int(targets[first]) * target.page_bytes,
                    source.address + layer * source.layer_bytes + int(sources[first]) * source.page_bytes,
                    length * source.page_bytes,
                    _ANY_TO_ANY,
                    self._stream.ptr,
                )

    def _spin(self, duration_ns: int) -> None:
        if duration_ns > 0:
            self._kernels.get("spin.cu", "spin")((1,), (1,), (np.uint64(duration_ns),))

    def _of(self, buffer: PagedBuffer) -> PoolMemory:
        return self._memory[buffer.name]


def _plain_event(cupy: Any) -> Any:
    return cupy.cuda.Event(disable_timing=True)


def _ids(access: Access) -> tuple[Any, Any]:
    return np.asarray(access.region.layers, dtype=np.int64), access.region.pages


def _neighbours(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Layers that are neighbours on both sides, as (first here, first there, count): one launch for each."""
    groups: list[tuple[int, int, int]] = []
    for layer, other in pairs:
        if groups and layer == sum(groups[-1][::2]) and other == groups[-1][1] + groups[-1][2]:
            groups[-1] = (*groups[-1][:2], groups[-1][2] + 1)
        else:
            groups.append((layer, other, 1))
    return groups
