"""What is told of one operation when it is pointed at: label, stream, thread, footprint, times, call site.

Owns: those lines. Does not own: where they are shown. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kernels.races.detector.race import Race
from kernels.races.report.phrases import spans
from kernels.races.report.stored import ByteRegion
from kernels.substrate.contract import Region
from kernels.substrate.sites import frames_of
from kernels.substrate.trace import Access, Operation

_ACCESSES_SHOWN = 8


class Fact(NamedTuple):
    """One line: what it is about, and what there is to say."""

    name: str
    text: str


def facts_of(row: Operation) -> tuple[Fact, ...]:
    """Everything that is known of an operation."""
    facts = [Fact("operation", f"#{row.ordinal} {row.label}"), Fact("stream", row.stream), Fact("thread", row.thread)]
    facts.append(Fact("ran", f"{row.start_ns:,} - {row.end_ns:,}" if row.end_ns > row.start_ns else f"{row.end_ns:,}"))
    if row.kind in ("record", "wait"):
        bound = f"record {row.generation}" if row.generation else "bound to nothing"
        facts.append(Fact("event", f"{row.event}, {bound}"))
    sites = row.access_sites if len(row.access_sites) == len(row.accesses) else ("",) * len(row.accesses)
    for access, site in list(zip(row.accesses, sites, strict=True))[:_ACCESSES_SHOWN]:
        facts.append(Fact("writes" if access[0] else "reads", footprint(access)))
        if site and site != row.site:
            facts += [Fact("asked for in" if not at else "", frame) for at, frame in enumerate(frames_of(site))]
    if len(row.accesses) > _ACCESSES_SHOWN:
        facts.append(Fact("", f"and {len(row.accesses) - _ACCESSES_SHOWN} more accesses"))
    facts += [Fact("issued in" if not at else "", frame) for at, frame in enumerate(frames_of(row.site))]
    return tuple(facts)


def issue_facts(row: Operation) -> tuple[Fact, ...]:
    """Of the host call that issued an operation."""
    facts = [Fact("host call", f"issues #{row.ordinal} {row.label} to {row.stream}"), Fact("thread", row.thread)]
    return (*facts, *(Fact("in" if not at else "", frame) for at, frame in enumerate(frames_of(row.site))))


def footprint(access: Access) -> str:
    """`device.index_k layers 0-3, pages 12-14`."""
    _, region = access
    if isinstance(region, ByteRegion):
        ranges = ", ".join(f"[{begin:,}, {end:,})" for begin, end in region.ranges)
        return f"{region.buffer.name} bytes {ranges}"
    layers, pages = sorted(region.layers), region.pages.tolist()
    noun = "layer" if len(layers) == 1 else "layers"
    where = "page" if len(pages) == 1 else "pages"
    return f"{region.buffer.name} {noun} {spans(layers)}, {where} {spans(pages) or 'none'}"


def touches(row: Operation, race: Race) -> bool:
    """True where an operation touches some of what is raced for."""
    regions = (region for _, region in row.accesses if region.buffer.name == race.buffer)
    return any(race.layer in region.layers and _meets(region, race.intervals) for region in regions)


def _meets(region: Region, intervals: Sequence[tuple[int, int]]) -> bool:
    if isinstance(region, ByteRegion):
        return any(begin < high and low < end for begin, end in region.ranges for low, high in intervals)
    return any(bool(((region.pages >= low) & (region.pages < high)).any()) for low, high in intervals)
