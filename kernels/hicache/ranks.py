"""Ranks: under tensor parallelism every rank has its own pools, streams, events and gate.

Owns: what is private to a rank. Does not own: bookkeeping, which all ranks share (one tree, one allocator per tier):
the cache is replicated, so every rank holds the same pages under the same ids. Floor 2a.
Source: SGLang's one-process-per-rank layout, folded into one record per rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernels.hicache.gate import LayerGate, LayerRing
from kernels.hicache.geometry import Geometry
from kernels.hicache.pools import TierPools
from kernels.hicache.remedy import remedy_named
from kernels.hicache.spec import HiCacheSpec
from kernels.substrate.contract import Machine, Stream


@dataclass(frozen=True, slots=True, eq=False)
class HostTier:
    """A rank's host pools and the two streams that move pages to and from them."""

    pools: TierPools
    load: Stream
    backup: Stream


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """One rank. `schedule`: the stream whose work so far precedes every transfer (start events are recorded on it).

    host: None where HiCache is off.
    """

    index: int
    schedule: Stream
    device: TierPools
    host: HostTier | None
    ring: LayerRing
    gate: LayerGate


def build_ranks(
    machine: Machine, geometry: Geometry, spec: HiCacheSpec, schedules: Sequence[Stream], name: str
) -> tuple[Rank, ...]:
    """One rank for each schedule stream, on that stream's device.

    Effect: makes buffers, streams and events on the machine, named `name.rN...`.
    """

    def pools(prefix: str, space: str, page_count: int) -> TierPools:
        return TierPools(machine, geometry, spec.formats, name=prefix, space=space, page_count=page_count)

    ranks: list[Rank] = []
    for index, schedule in enumerate(schedules):
        prefix = f"{name}.r{index}"
        device = schedule.device
        host = None
        if spec.host_tokens > 0:
            host = HostTier(
                pools=pools(f"{prefix}.host", "host", spec.host_pages(geometry)),
                load=machine.stream(f"{prefix}.load", device=device),
                backup=machine.stream(f"{prefix}.backup", device=device),
            )
        ring = LayerRing(machine, geometry.layer_count, f"{prefix}.ring", remedy_named(spec.remedy))
        ranks.append(
            Rank(
                index=index,
                schedule=schedule,
                device=pools(f"{prefix}.device", f"device:{device}", spec.device_pages(geometry)),
                host=host,
                ring=ring,
                gate=LayerGate(ring),
            )
        )
    return tuple(ranks)
