"""Transfers: the copies that a load or a backup consists of, in the order in which they are issued.

Owns: copy order, delay points, labels, the at-rest comparison. Does not own: which pages move (controller), or when
a transfer is acknowledged (loads, backups). Floor 2a.
Source: SGLang HostPoolGroup.load_to_device_per_layer and backup_from_device_all_layer (order), ours (code).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kernels.hicache.geometry import WINDOW_POOLS, Geometry, PoolKind
from kernels.hicache.paths import TransferPath
from kernels.hicache.prefix import NO_PAGES
from kernels.hicache.ranks import Rank
from kernels.hicache.remedy import Remedy
from kernels.substrate.contract import Event, Machine, PageIds

BACKUP_POINT = "d2h.backup"


def load_point(kind: PoolKind) -> str:
    """The delay point of a pool's load: the states share one."""
    return "h2d.state" if kind.endswith("_state") else f"h2d.{kind}"


def delay_points(geometry: Geometry) -> tuple[str, ...]:
    """Delay points that transfers of this geometry pass."""
    return tuple(dict.fromkeys([*(load_point(kind) for kind in geometry.pool_kinds), BACKUP_POINT]))


@dataclass(frozen=True, slots=True, eq=False)
class PageMoves:
    """Pages that move together: host page i belongs to device page i.

    host, device: [n] pages of the pools that move whole. window_host, window_device: [m] trailing pages, of the pools
    in `WINDOW_POOLS` only.
    """

    host: PageIds
    device: PageIds
    window_host: PageIds = field(default_factory=lambda: NO_PAGES)
    window_device: PageIds = field(default_factory=lambda: NO_PAGES)

    def of(self, kind: PoolKind) -> tuple[PageIds, PageIds]:
        """Host and device pages of one pool."""
        if kind in WINDOW_POOLS:
            return self.window_host, self.window_device
        return self.host, self.device


def merged(moves: Sequence[PageMoves]) -> PageMoves:
    """All moves in one, in order: what SGLang does with queued loads."""
    return PageMoves(
        host=np.concatenate([move.host for move in moves]),
        device=np.concatenate([move.device for move in moves]),
        window_host=np.concatenate([move.window_host for move in moves]),
        window_device=np.concatenate([move.window_device for move in moves]),
    )


def issue_load(rank: Rank, geometry: Geometry, moves: PageMoves, path: TransferPath, slot: int) -> int:
    """Enqueue a whole load on the rank's load stream, layer by layer, with ring set `slot`.

    Inside a layer: main KV, index-K, states; then ONE event for all of them. A remedy may put index-K in front, or
    give it an event of its own.
    Effect: enqueues on the load stream only, behind everything that the schedule stream has so far. Returns: bytes.
    """
    tier = rank.host
    assert tier is not None, "a load needs a host tier"
    start = rank.ring.start_event(slot)
    rank.schedule.record(start)
    tier.load.wait(start)
    size_bytes = 0
    for layer in range(geometry.layer_count):
        for kind in _load_order(geometry.pools_of(layer), rank.ring.remedy):
            own = rank.ring.index_k_event(slot, layer) if kind == "index_k" else None
            if own is not None and rank.ring.remedy.event == "own_before_the_copy":
                tier.load.record(own)
            host_pages, device_pages = path.walk(*moves.of(kind))
            if len(host_pages) > 0:
                target = rank.device[kind].region(layer, device_pages)
                tier.load.copy(
                    tier.pools[kind].region(layer, host_pages),
                    target,
                    point=load_point(kind),
                    label=f"{kind}[layer {layer}]",
                    io=path.io,
                    layer=layer,
                )
                size_bytes += target.byte_count
            if own is not None and rank.ring.remedy.event == "own":
                tier.load.record(own)
        tier.load.record(rank.ring.layer_event(slot, layer))
    return size_bytes


def _load_order(kinds: Sequence[PoolKind], remedy: Remedy) -> Sequence[PoolKind]:
    return sorted(kinds, key=lambda kind: kind != "index_k") if remedy.index_k_first else kinds


def issue_backup(
    rank: Rank, geometry: Geometry, moves: PageMoves, path: TransferPath, start: Event, finish: Event
) -> int:
    """Enqueue a backup on the rank's backup stream: each pool once, over all its layers.

    Effect: as `issue_load`, on the backup stream; `finish` is recorded after the last copy. Returns: bytes.
    """
    tier = rank.host
    assert tier is not None, "a backup needs a host tier"
    rank.schedule.record(start)
    tier.backup.wait(start)
    size_bytes = 0
    for kind in geometry.pool_kinds:
        host_pages, device_pages = path.walk(*moves.of(kind))
        if len(host_pages) == 0:
            continue
        source = rank.device[kind].all_layers(device_pages)
        tier.backup.copy(
            source,
            tier.pools[kind].all_layers(host_pages),
            point=BACKUP_POINT,
            label=f"{kind}[all layers]",
            io=path.io,
        )
        size_bytes += source.byte_count
    tier.backup.record(finish)
    return size_bytes


def at_rest_mismatches(machine: Machine, rank: Rank, geometry: Geometry, moves: PageMoves) -> int:
    """Pages, counted per layer and pool, that differ between the tiers after a load has finished.

    A race leaves none: the bytes are right once the copy has ended, only the read was too early. A static copy bug
    (wrong page, forgotten pool, wrong layer) leaves some.
    """
    tier = rank.host
    assert tier is not None, "a load needs a host tier"
    count = 0
    for kind in geometry.pool_kinds:
        host_pages, device_pages = moves.of(kind)
        if len(host_pages) == 0:
            continue
        source = machine.landed(tier.pools[kind].all_layers(host_pages))
        target = machine.landed(rank.device[kind].all_layers(device_pages))
        count += int((source != target).sum())
    return count
