"""What must be said of a workload from a file that was begun anew: its sessions are repeats of each other.

Owns: the sentence. Does not own: the counting (`harness/live/workloads/use`), intervals (`results.stats`). Floor 3.
Source: ours.
"""

from __future__ import annotations

from collections.abc import Mapping


def repeats_note(counters: Mapping[str, int | float]) -> str | None:
    """None where every session was sent once."""
    passes = int(counters.get("workload_passes", 0))
    if not passes:
        return None
    times = "once" if passes == 1 else f"{passes} times"
    return (
        f"The file of the workload was begun anew {times}: sessions are repeats of each other, so whatever takes them "
        "as independent (intervals, and the rates that a zero leaves open) claims too much."
    )
