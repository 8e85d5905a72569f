"""Clusters of a live run: blocks of time, and the counts of each cluster.

Owns: which block a start time lies in, and events and units by cluster. Does not own: intervals over them (`arm_rate`).
Floor 3. Source: ours. Requests near each other in time meet the same load and the same cache, so a live run's
independent unit is a stretch of time longer than such a state lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor


def block_numbers(start_s: Sequence[float], block_s: float) -> list[int]:
    """For each start time the number of its block, counted from the earliest start."""
    assert block_s > 0, block_s
    first_s = min(start_s, default=0.0)
    return [floor((start - first_s) / block_s) for start in start_s]


def counts_by_cluster(clusters: Sequence[int], is_event: Sequence[bool]) -> tuple[list[int], list[int]]:
    """Events and units of each cluster that has any unit, in the order of cluster numbers."""
    assert len(clusters) == len(is_event), (len(clusters), len(is_event))
    events = dict.fromkeys(sorted(set(clusters)), 0)
    units = dict(events)
    for cluster, struck in zip(clusters, is_event, strict=True):
        events[cluster] += struck
        units[cluster] += 1
    return list(events.values()), list(units.values())
