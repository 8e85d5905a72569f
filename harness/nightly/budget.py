"""The time that a night may take.

Owns: `2h`, `90m`, `1h30m` as seconds, and what is left. Floor 5.
"""

from __future__ import annotations

import re

from harness.nightly.clock import NightClock
from kernels.errors import ConfigError

BUDGET_FORM = "write hours, minutes or seconds, such as 2h, 90m or 1h30m"

_SPAN = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?")


def parse_budget(text: str) -> int:
    """Seconds. Raises: ConfigError."""
    match = _SPAN.fullmatch(text.strip())
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    total_s = 3600 * hours + 60 * minutes + seconds
    if total_s == 0:
        raise ConfigError(f"--budget '{text}' is no time; {BUDGET_FORM}", key="--budget", value=text)
    return total_s


def span_text(seconds: float) -> str:
    """`45 s`, `12 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


class Budget:
    """Counts from when it is made."""

    def __init__(self, total_s: float, clock: NightClock) -> None:
        self.total_s = total_s
        self._clock = clock
        self._began_s = clock.elapsed_s()

    def __repr__(self) -> str:
        return f"Budget({self.total_s} s, {self.left_s:.0f} s left)"

    @property
    def spent_s(self) -> float:
        return self._clock.elapsed_s() - self._began_s

    @property
    def left_s(self) -> float:
        return max(0.0, self.total_s - self.spent_s)
