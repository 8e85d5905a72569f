"""Waiting and reading the time, for stub servers that must be busy for a while.

Owns: the only place in this folder that waits. Source: asyncio.
"""

from __future__ import annotations

import asyncio
import time


async def busy_for(seconds: float) -> None:
    """Let other requests run for so long."""
    await asyncio.sleep(seconds)


def now_ns() -> int:
    return time.monotonic_ns()
