"""The lines that a live run's screen has besides those of a simulated one.

Owns: the words. Does not own: figures (`latency.py`, `scrape.py`). Pure. Floor 5.
"""

from __future__ import annotations

from harness.live.load.figures import load_lines
from harness.live.outcome import LiveResult
from harness.live.workloads.use import use_rows
from results.report.live_notes import host_tier_note
from results.serial.words import serial_rows
from results.server_log import server_log_notes

_LABEL_CHARACTERS = 12
_QUIRKS_SHOWN = 6


def live_lines(result: LiveResult) -> str:
    latency, lag = result.latency, result.lag
    first, whole, gap = (
        _pair(*both)
        for both in (
            (latency.ttft_p50, latency.ttft_p99),
            (latency.e2e_p50, latency.e2e_p99),
            (latency.itl_p50, latency.itl_p99),
        )
    )
    rows = [
        (
            "latency",
            f"first token {first}, whole reply {whole}, between pieces {gap} (p50/p99)",
        ),
        ("client", f"{latency.verdict.upper()}: {latency.verdict_reason}; {100 * lag.cpu_share:.0f} % of a core"),
        ("streams", _streams(result)),
        ("server", _server(result)),
        ("host tier", host_tier_note(result.summary.counters).removeprefix("Host tier: ")),
        ("tokens", f"{result.tokens_spent:,} spent"),
    ]
    rows += use_rows(result.workload)
    rows += load_lines(result.load)
    rows += serial_rows(result.serial, result.summary.verdict_reason)
    if result.quirks:
        shown = [f"{count:,} {name.replace('_', ' ')}" for name, count in result.quirks.items()][:_QUIRKS_SHOWN]
        rows.append(("quirks", f"{', '.join(shown)} (never corruption)"))
    rows += result.beside.liveness.rows()
    rows += [("server log", note) for note in (*server_log_notes(result.beside.log), *result.beside.log_notes)]
    if result.stopped_by is not None:
        rows.append(("ended", result.stopped_by))
    return "\n".join(f"{label:<{_LABEL_CHARACTERS}}{text}" for label, text in rows)


def _pair(p50: float | None, p99: float | None) -> str:
    return "unknown" if p50 is None or p99 is None else f"{p50:,.1f}/{p99:,.1f} ms"


def _streams(result: LiveResult) -> str:
    mean = result.latency.streams_mean
    shown = "" if mean is None else f", {mean:.1f} on average"
    return f"{result.latency.streams_max} replies really open at once{shown}"


def _server(result: LiveResult) -> str:
    counters = ", ".join(f"{name} {value:,}" for name, value in result.evidence.counters.items())
    cached = [turn.cached_tokens for turn in result.turns if turn.cached_tokens is not None]
    hits = sum(count > 0 for count in cached)
    usage = f"{hits} of {len(cached)} replies report cached tokens" if cached else "no reply reports cached tokens"
    return f"{usage}; {counters or result.evidence.note}"
