"""The rows of a stored trace around its races: what a picture needs, and what a verdict does not keep.

Owns: a second look at the file, near the racing operations only, and their footprints and call sites. Does not own: the
verdict (detector), checking the format (`detector.reading`: only what it understood is read again). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from kernels.races.detector.reading import host_lane
from kernels.races.naming.codes import Finding
from kernels.races.naming.naming import Group
from kernels.substrate.contract import Region
from kernels.substrate.trace import Access, MemoryTrace, Operation

NEAR = 150
"""Operations before and behind, in host issue order, that are kept for a picture."""

_HOST_ROWS = ("touch", "alloc", "free")
_ROWS = ("copy", "kernel", "record", "wait", *_HOST_ROWS)

Row = dict[str, Any]


@dataclass(slots=True, eq=False)
class StoredBuffer:
    """A buffer as it was declared; a buffer of bytes has pages of one byte."""

    name: str
    space: str
    layer_count: int
    page_count: int
    page_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class ByteRegion(Region):
    """Byte ranges of a buffer that has no pages."""

    ranges: tuple[tuple[int, int], ...] = ()


def near_races(lines: Iterable[bytes], groups: Sequence[Group]) -> list[MemoryTrace]:
    """One trace a race, in the order of `groups`. Effect: completes the accesses of the racing operations."""
    wanted = [_ordinals(group.shown) for group in groups]
    every = near_numbers(groups)
    buffers: dict[str, StoredBuffer] = {}
    traces = [MemoryTrace() for _ in groups]
    sides = [side.operation for group in groups for side in (group.shown.race.first, group.shown.race.second)]
    for line in lines:
        row = orjson.loads(line)
        if row["row"] == "buffer":
            buffers[row["name"]] = _buffer(row)
        elif row["row"] in _ROWS and row["op"] in every:
            operation = _operation(row, buffers)
            for ordinals, trace in zip(wanted, traces, strict=True):
                if operation.ordinal in ordinals:
                    trace.operation(operation)
            for side in sides:
                if side.ordinal == operation.ordinal and not side.accesses:
                    side.accesses, side.access_sites = operation.accesses, operation.access_sites
    return traces


def near_numbers(groups: Sequence[Group]) -> frozenset[int]:
    """The operations, by number in host issue order, that lie near any of these races."""
    return frozenset[int]().union(*(_ordinals(group.shown) for group in groups))


def _ordinals(finding: Finding) -> frozenset[int]:
    """What lies near anything that the report speaks of."""
    rows = [finding.race.first.operation, finding.race.second.operation]
    rows += [row for row in finding.evidence if isinstance(row, Operation)]
    return frozenset(at for row in rows for at in range(row.ordinal - NEAR, row.ordinal + NEAR + 1))


def _buffer(row: Row) -> StoredBuffer:
    if "bytes" in row:
        return StoredBuffer(row["name"], str(row.get("space", "")), 1, row["bytes"], 1)
    return StoredBuffer(row["name"], str(row.get("space", "")), row["layers"], row["pages"], row.get("page_bytes", 0))


def _operation(row: Row, buffers: dict[str, StoredBuffer]) -> Operation:
    is_host = row["row"] in _HOST_ROWS and "stream" not in row
    time_ns = int(row["time"] if "time" in row else row.get("issue", 0))
    operation = Operation(
        row["op"],
        "kernel" if row["row"] in _HOST_ROWS else row["row"],
        host_lane(row["thread"]) if is_host else row["stream"],
        row["thread"],
        str(row.get("label", row["row"])),
        int(row.get("issue", time_ns)),
        layer=row.get("layer"),
        event=str(row.get("event", "")),
        generation=row.get("generation", 0),
        start_ns=int(row.get("start", time_ns)),
        end_ns=int(row.get("end", time_ns)),
        site=str(row.get("site", "")),
        access_sites=tuple(map(str, row.get("access_sites", ()))),
    )
    listed = [{**row, "mode": "write"}] if row["row"] in ("alloc", "free") else row.get("accesses", [])
    operation.accesses = tuple(_access(access, buffers) for access in listed)
    return operation


def _access(access: Row, buffers: dict[str, StoredBuffer]) -> Access:
    buffer, layers = buffers[access["buffer"]], tuple(access.get("layers", [0]))
    is_write = access["mode"] == "write"
    if "bytes" in access:
        ranges = tuple((begin, end) for begin, end in access["bytes"])
        return is_write, ByteRegion(buffer, layers, np.zeros(0, np.int64), ranges)
    pages = [np.arange(begin, end, dtype=np.int64) for begin, end in access["pages"]]
    return is_write, Region(buffer, layers, np.concatenate(pages) if pages else np.zeros(0, np.int64))
