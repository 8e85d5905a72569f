"""What a cache has done so far: a frozen snapshot, and the tally behind it.

Owns: names and meaning of the counts. Does not own: printing them. Floor 2a. Source: ours; the metrics that a host-tier
hit must be proved with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts since the cache was made; a flush does not clear them. Bytes are summed over ranks, pages are not.

    device_hit_pages, host_hit_pages: pages of opened prefixes that were on the device, or only on the host.
    load_backs: requests that loaded pages back. window_loads: of these, those that loaded a trailing window only.
    loads: merged loads that were started. loads_refused: load-backs for which no room could be made, or too small.
    ring_waits: times that a load had to wait for a set of layer events, summed over ranks.
    backups: nodes copied to the host. backups_refused: nodes for which the host tier had no room.
    evicted_device_pages: pages that left the device; dropped_pages: of these, those that were in no other tier.
    taken_over_pages: cached pages replaced because their windows were missing. duplicate_pages: computed twice.
    at_rest_mismatches: loaded pages (per layer and pool) that differed from their host copies at the end.
    """

    device_hit_pages: int = 0
    host_hit_pages: int = 0
    load_backs: int = 0
    window_loads: int = 0
    loads: int = 0
    loads_refused: int = 0
    loaded_pages: int = 0
    loaded_bytes: int = 0
    ring_waits: int = 0
    backups: int = 0
    backups_refused: int = 0
    backed_up_pages: int = 0
    backed_up_bytes: int = 0
    evicted_device_pages: int = 0
    evicted_host_pages: int = 0
    dropped_pages: int = 0
    taken_over_pages: int = 0
    duplicate_pages: int = 0
    at_rest_mismatches: int = 0


class Tally:
    """The one counter that the parts of a cache share."""

    def __init__(self) -> None:
        self.now = Statistics()

    def add(self, **amounts: int) -> None:
        """Add to the named counts; an unknown name is an AttributeError."""
        self.now = replace(self.now, **{name: getattr(self.now, name) + amount for name, amount in amounts.items()})

    def __repr__(self) -> str:
        return f"Tally({self.now})"
