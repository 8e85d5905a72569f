"""The first part of a run, which is sent, judged and kept, and in no figure: caches fill, connections are made.

Owns: which turns belong to it. Does not own: leaving them out (`results/reader.py`, `harness/live/keeping.py`). Pure.
Floor 5. Source: facts/loadgen.md section 4 (row 8).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernels.errors import ConfigError

_TIME = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smh])")
_SESSIONS = re.compile(r"(\d{1,6}) ?sessions?")
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Either every turn sent in the first `duration_s`, or every turn of the first `sessions`. The other is None."""

    duration_s: float | None = None
    sessions: int | None = None

    def words(self) -> str:
        if self.duration_s is not None:
            return f"{self.duration_s:g} s of warm-up"
        return f"{self.sessions} sessions of warm-up"

    def covers(self, session: int, sent_ns: int) -> bool:
        """sent_ns: since the load began."""
        if self.sessions is not None:
            return session < self.sessions
        return self.duration_s is not None and sent_ns < self.duration_s * 1e9


def warm_up_of(text: str | None, *, sessions: int, duration_s: float | None) -> WarmUp | None:
    """sessions, duration_s: the load's own. Raises: ConfigError where nothing would be left to measure."""
    if text is None:
        return None
    if match := _TIME.fullmatch(text.strip()):
        time_s = float(match[1]) * _UNITS_S[match[2]]
        if duration_s is not None and time_s >= duration_s:
            what = f"--warm-up {text} leaves nothing of a --duration of {duration_s:g} s to measure"
            raise ConfigError(what, key="--warm-up", value=text)
        return WarmUp(duration_s=time_s) if time_s else None
    if match := _SESSIONS.fullmatch(text.strip()):
        count = int(match[1])
        if duration_s is None and count >= sessions:
            what = f"--warm-up {text} leaves nothing of {sessions} sessions to measure"
            raise ConfigError(what, key="--warm-up", value=text)
        return WarmUp(sessions=count) if count else None
    raise ConfigError(f"--warm-up '{text}' is neither a time (30s, 2m) nor a number of sessions ('8 sessions')",
                      key="--warm-up", value=text)  # fmt: skip
