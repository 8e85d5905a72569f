"""What a live run says of its own client: how late it was itself, and how many replies were really open.

Owns: the sentences. Does not own: the figures (`harness/live` puts them among the counters). Floor 3. Source: ours;
a load generator's own lag looks like the server's, and a report that leaves it out blames the wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping


def lag_notes(counters: Mapping[str, int | float]) -> list[str]:
    """Nothing for a run whose client did not measure itself."""
    lag_ms = counters.get("client_lag_kernel_ms_p99", counters.get("client_lag_loop_ms_p99"))
    if lag_ms is None:
        return []
    sentence = f"The client itself was up to {lag_ms:,.1f} ms late (p99) and kept {counters['client_cpu_share']:.0%} of"
    sentence += f" a core busy; {counters['streams_open_max']:,.0f} replies were really open at once."
    if counters.get("client_is_too_late"):
        sentence += " Against the gaps of these replies that is too much: their latency is UNKNOWN."
    return [sentence]
