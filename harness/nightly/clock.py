"""Time as the nightly job sees it.

Owns: the protocol, so that tests need not wait, and the real clock. Floor 5.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class NightClock(Protocol):
    """A clock that never goes back, and the date."""

    def elapsed_s(self) -> float:
        """Seconds since some moment; only differences mean anything."""

    def utc_now(self) -> datetime: ...


class WallNightClock:
    """The machine's own."""

    def __repr__(self) -> str:
        return "WallNightClock()"

    def elapsed_s(self) -> float:
        return time.monotonic()

    def utc_now(self) -> datetime:
        return datetime.now(UTC)
