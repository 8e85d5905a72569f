"""Nothing runs, and requests wait: a queue that nobody serves, by the server's own gauges.

Owns: the rule. Does not own: reading gauges (`harness/live/scrape`). Pure. Floor 5. Source: facts/bugs.md section 4
(S13: running 0, waiting N). A gauge is read once a second, so a moment in between is not seen: only every reading of a
whole stretch shows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.live.liveness.record import StuckQueue
from harness.live.metric_names import MOVING, RUNNING, WAITING


class StuckWatch:
    """found: every stretch that was long enough."""

    def __init__(self, timeout_s: float) -> None:
        self.found: list[StuckQueue] = []
        self._timeout_s = timeout_s
        self._since_s: float | None = None
        self._last_s = 0.0
        self._waiting = 0

    def __repr__(self) -> str:
        return f"StuckWatch({len(self.found)} found, since {self._since_s})"

    def sampled(self, at_s: float, figures: Mapping[str, float]) -> None:
        waiting = int(figures.get(WAITING, 0) + figures.get(MOVING, 0))
        if RUNNING not in figures or figures[RUNNING] > 0 or waiting == 0:
            self.close()
            return
        if self._since_s is None:
            self._since_s = at_s
        self._last_s, self._waiting = at_s, max(self._waiting, waiting)

    def close(self) -> None:
        """The stretch is over."""
        lasted_s = 0.0 if self._since_s is None else self._last_s - self._since_s
        if self._since_s is not None and self._timeout_s and lasted_s >= self._timeout_s:
            self.found.append(StuckQueue(round(self._since_s, 3), round(lasted_s, 3), self._waiting))
        self._since_s, self._waiting = None, 0
