"""Waiting and reading the time, for servers that take a while to come up.

Owns: the only place in this folder that waits. Source: ours.
"""

from __future__ import annotations

import time


def now_s() -> float:
    return time.monotonic()


def wait_s(seconds: float) -> None:
    time.sleep(seconds)
