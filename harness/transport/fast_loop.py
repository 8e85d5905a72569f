"""The event loop of whoever measures: uvloop's where there is one.

Owns: the choice. Floor 5. Source: facts/loadgen.md section 3.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the loop, for `asyncio.Runner`; None for asyncio's own."""
    try:
        import uvloop
    except ImportError:
        # There is none for Windows, and asyncio's own does.
        return None
    return uvloop.new_event_loop
