"""What a stream of a real machine is given to do, and what it says when it has done it.

Owns: the records that cross the seam to a backend. Does not own: doing it. Floor 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import KernelBody, Region, Versions
from kernels.substrate.paged import PagedBuffer
from kernels.substrate.trace import Operation


class Access(NamedTuple):
    """A region with its buffer, and the versions that belong to it, flat over [layer, page]: wanted, or written."""

    buffer: PagedBuffer
    region: Region
    versions: Versions


class Record:
    """One record of an event. `is_settled` turns true when the host has heard that it is complete.

    flag: what the backend makes streams wait for; it is there from the moment at which the record is submitted.
    """

    __slots__ = ("event", "flag", "generation", "is_settled", "stream")

    def __init__(self, event: str, generation: int, stream: str) -> None:
        self.event = event
        self.generation = generation
        self.stream = stream
        self.is_settled = False
        self.flag: Any = None

    def __repr__(self) -> str:
        return f"Record({self.event} #{self.generation} on {self.stream}, settled={self.is_settled})"


@dataclass(slots=True, eq=False)
class CopyJob:
    """pace_ns: how long the modelled machine would take; a backend without a bus of its own takes that long."""

    operation: Operation
    source: Access
    target: Access
    pace_ns: int


@dataclass(slots=True, eq=False)
class KernelJob:
    operation: Operation
    reads: Sequence[Access]
    writes: Sequence[Access]
    read_ns: int
    duration_ns: int
    body: KernelBody | None


@dataclass(slots=True, eq=False)
class RecordJob:
    operation: Operation
    record: Record


@dataclass(slots=True, eq=False)
class WaitJob:
    """record: None where the event was never recorded."""

    operation: Operation
    record: Record | None


Job = CopyJob | KernelJob | RecordJob | WaitJob


class Sight(NamedTuple):
    """What one read saw, each flat over [layer, page]: versions in front of and behind the tear, and where it was."""

    head: Versions
    tail: Versions
    tear: NDArray[np.float32]


class Finished(NamedTuple):
    """A job that is over, with the times at which it ran and what its reads saw."""

    job: Job
    start_ns: int
    end_ns: int
    sights: Sequence[Sight] = ()


class Lane(Protocol):
    """A real stream. All methods are called by the host's thread; none of them blocks."""

    def submit(self, job: Job) -> None:
        """Enqueue. A wait is bound to its record now."""

    def next_finished(self) -> Finished | None:
        """The oldest job that is over and was not asked for yet, in FIFO order; None where there is none."""

    @property
    def outstanding(self) -> Sequence[Operation]:
        """What was submitted and not yet returned as finished, oldest first."""


class Backend(Protocol):
    """Real memory and real streams."""

    name: str

    def adopt(self, buffer: PagedBuffer) -> None:
        """Make the memory of a new buffer, all zeros. Raises: EnvironmentProblem where there is too little."""

    def lane(self, stream: str, device: int) -> Lane: ...

    def look(self, buffer: PagedBuffer, region: Region) -> Sight:
        """What is in the memory now; blocks the host."""

    def close(self) -> None:
        """Wait for what runs and give everything back. Raises: what went wrong on a stream."""
