"""The hand-off: a finished prompt's pages and its metadata row, from the prefill pools to the decode pools.

Owns: the copies and their order, and the metadata rows. Does not own: page tables (engines), rooms (bootstrap).
Floor 2c. Source: SGLang's `send_kv_chunk` and `MetadataBuffers` (facts/sglang.md, 4): pages by index, then the row.

The row carries the first token and the room; the decode half checks the room, because a row that is reused too early
would hand it somebody else's first token (facts/bugs.md, B16).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.engine.bootstrap import Rendezvous
from kernels.hicache.allocator import PageAllocator
from kernels.hicache.geometry import WINDOW_POOLS, Geometry
from kernels.hicache.pools import TierPools
from kernels.substrate.contract import Buffer, Machine, PageIds, Region, Stream, Write

HANDOFF_POINT = "handoff"
ROW_BYTES = 1_024
"""16 int32 output ids, cached-token counts, logprobs and the room: SGLang pads each field to 64 bytes and more."""


class MetadataRows:
    """Rows on both sides, and what was written into them: [1, row_count] pages of one row each."""

    def __init__(self, machine: Machine, row_count: int, *, decode_device: int) -> None:
        self.source: Buffer = machine.buffer(
            "metadata.prefill", space="device:0", layer_count=1, page_count=row_count, page_bytes=ROW_BYTES
        )
        self.target: Buffer = machine.buffer(
            "metadata.decode",
            space=f"device:{decode_device}",
            layer_count=1,
            page_count=row_count,
            page_bytes=ROW_BYTES,
        )
        self._free = PageAllocator(row_count, "fifo")

    def take(self) -> int | None:
        """A free row, or None."""
        row = self._free.alloc(1)
        return None if row is None else int(row[0])

    def free(self, row: int) -> None:
        self._free.free(np.array([row], dtype=np.int64))

    def at_source(self, row: int) -> Region:
        return Region(self.source, (0,), np.array([row], dtype=np.int64))

    def at_target(self, row: int) -> Region:
        return Region(self.target, (0,), np.array([row], dtype=np.int64))


class Handoff:
    """Sends prompts from every rank's prefill pools to that rank's decode pools."""

    def __init__(
        self,
        machine: Machine,
        geometry: Geometry,
        sources: Sequence[TierPools],
        targets: Sequence[TierPools],
        streams: Sequence[Stream],
        rows: MetadataRows,
    ) -> None:
        assert len(sources) == len(targets) == len(streams), (len(sources), len(targets), len(streams))
        self._machine = machine
        self._geometry = geometry
        self._sources = sources
        self._targets = targets
        self._streams = streams
        self._rows = rows
        self.count = 0
        self.bytes = 0

    def send(self, meeting: Rendezvous, pages: PageIds, row_version: int) -> None:
        """Enqueue one prompt's copies on every rank; the row goes last, on rank 0's stream, behind all ranks.

        Effect: `meeting.arrived` is recorded behind everything. `pages` must stay until then.
        Args:
            pages: [n] int64 prefill pages of the whole prompt. row_version: the content of the metadata row.
        """
        assert meeting.decode_pages is not None, meeting
        assert meeting.row is not None, meeting
        assert len(pages) == len(meeting.decode_pages), (len(pages), len(meeting.decode_pages))
        lead = self._streams[0]
        for rank, (source, target, stream) in enumerate(zip(self._sources, self._targets, self._streams, strict=True)):
            for kind in self._geometry.pool_kinds:
                part = slice(-1, None) if kind in WINDOW_POOLS else slice(None)
                sent = source[kind].all_layers(pages[part])
                received = target[kind].all_layers(meeting.decode_pages[part])
                stream.copy(sent, received, point=HANDOFF_POINT, label=f"handoff {kind}")
                self.bytes += sent.byte_count
            if rank > 0:
                done = self._machine.event(f"handoff[{meeting.room}].r{rank}")
                stream.record(done)
                lead.wait(done)
        row = self._rows.at_source(meeting.row)
        written = Write(row, np.array([row_version], dtype=np.int64))
        lead.launch("metadata row", duration_ns=1_000, point="compute.layer", writes=(written,))
        lead.copy(row, self._rows.at_target(meeting.row), point=HANDOFF_POINT, label="handoff metadata row")
        meeting.arrived = self._machine.event(f"handoff[{meeting.room}].arrived")
        lead.record(meeting.arrived)
        self.count += 1
