"""What a live run says beside its rates: was the host tier used, did the server keep working, what has its log.

Owns: the sentences. Does not own: the figures (`harness/live` puts them among the counters), the log (`server_log`).
Floor 3. Source: ours. A clean run that never touched the host tier says nothing about it, and must not look as if.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from results.report.client_lag import lag_notes
from results.report.words import plural
from results.server_log import LogFinding, server_log_notes
from results.vacuity import HOST_COUNTERS, host_counter

Counters = Mapping[str, int | float]


def live_notes(counters: Counters, log: Sequence[LogFinding]) -> list[str]:
    """Nothing for a run that was not made against a live server."""
    lag = lag_notes(counters)
    return [*lag, *([host_tier_note(counters)] if lag else []), *liveness_notes(counters), *server_log_notes(log)]


def host_tier_note(counters: Counters) -> str:
    told = host_counter(counters)
    if told is None:
        return "Host tier: not known whether it was used: no counter of the server tells."
    name, count = told
    if count == 0:
        return f"Host tier: not used ({name} did not move), so this run says nothing about it."
    return f"Host tier: used, {count:,} {HOST_COUNTERS[name]} came back by the server's own counter ({name})."


def liveness_notes(counters: Counters) -> list[str]:
    notes = []
    timeout_s = counters.get("hang_timeout_s")
    if counters.get("hangs"):
        notes.append(
            f"HANG: no byte came on any stream for {counters['silence_s_max']:,.1f} s while requests were open; it was "
            f"found after {counters['hang_found_after_s_max']:,.1f} s (timeout {timeout_s:g} s), and the run was ended."
        )
    elif counters.get("stalls"):
        longest_s = counters["silence_s_max"]
        notes.append(f"Stall: no byte came on any stream for up to {longest_s:,.1f} s, and then it went on.")
    elif timeout_s:
        notes.append(f"Never {timeout_s:g} s without a byte on some stream while requests were open.")
    if counters.get("stuck_queues"):
        notes.append("Stuck queue: by the server's own gauges nothing ran and requests waited.")
    if "recovered" in counters:
        left = int(counters.get("requests_left_behind", 0))
        were = "was" if left == 1 else "were"
        well = "answered small requests" if counters["recovered"] else "did NOT answer a small request"
        notes.append(f"After the load the server {well}; {plural(left, 'request')} {were} left behind in its gauges.")
    if "neighbour_ttft_ratio" in counters:
        low, high = counters["neighbour_ttft_ratio_low"], counters["neighbour_ttft_ratio_high"]
        notes.append(
            f"Noisy neighbour: the first token takes {counters['neighbour_ttft_ratio']:.2f} times as long beside it "
            f"(95 %: {low:.2f} to {high:.2f})."
        )
    return notes
