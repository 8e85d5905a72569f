"""Integrity that a server counts in its metrics: as good as a line of its log.

Owns: which counters are such. Does not own: their names (`harness/live/metric_names`), the verdict
(`results/server_log`). Pure. Floor 5. Source: vLLM counts requests with NaN in their logits (0.32.0), and proposes to
count blocks whose checksum fails (pull request 57912).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from results.server_log import LogFinding, Weight

_COUNTED: Final = {
    "server_checksum_failures": ("checksum failures of offloaded pages", Weight.CORRUPT),
    # A stale page can make NaN, and so can a kernel or the weights.
    "server_corrupted_requests": ("corrupted requests (NaN in logits)", Weight.UNKNOWN),
}


def findings_of_counters(counters: Mapping[str, int | float]) -> list[LogFinding]:
    """One for each counter that grew over the run. Nobody knows when, or whose request it was."""
    found = []
    for counter, (name, weight) in _COUNTED.items():
        grown = int(counters.get(counter, 0))
        if grown > 0:
            text = f"{counter} grew by {grown:,}"
            found.append(
                LogFinding(name, "integrity", True, weight, "the server's metrics", None, "", text, more=grown - 1)
            )
    return found
