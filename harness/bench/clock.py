"""The host's clock, for what the host pays. Owns: reading it. Floor 6."""

from __future__ import annotations

from time import perf_counter_ns


def host_now_ns() -> int:
    return perf_counter_ns()
