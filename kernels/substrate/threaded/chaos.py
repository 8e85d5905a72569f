"""Chaos: now and then a stream gets no time for a while, as if the machine had better things to do.

Owns: when which stream pauses. Does not own: pausing. Floor 1.
Source: the rules of rr's chaos mode (R. O'Callahan, "Introducing rr chaos mode", 2016): some threads have low priority,
and there are intervals in which they do not run at all, whose lengths are spread evenly over orders of magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

_LOW_PRIORITY_SHARE = 0.3
_PAUSE_SHARE = 0.05
_REDRAW_SHARE = 0.01
_PAUSE_NS_RANGE = (20_000, 20_000_000)


@dataclass(frozen=True, slots=True)
class ChaosRules:
    """seed: of all pauses; the same seed gives each stream the same pauses, at the same of its operations."""

    seed: int
    low_priority_share: float = _LOW_PRIORITY_SHARE
    pause_share: float = _PAUSE_SHARE


class StreamChaos:
    """The pauses of one stream. Used by that stream's thread only."""

    def __init__(self, rules: ChaosRules, stream: str) -> None:
        self._rules = rules
        self._rng = np.random.default_rng([rules.seed, *stream.encode()])
        self._is_low = self._draw_priority()

    def pause_ns(self) -> int:
        """How long to stand still before the next piece of work; mostly 0."""
        if self._rng.random() < _REDRAW_SHARE:
            self._is_low = self._draw_priority()
        if not self._is_low or self._rng.random() >= self._rules.pause_share:
            return 0
        low, high = (math.log(bound) for bound in _PAUSE_NS_RANGE)
        return round(math.exp(self._rng.uniform(low, high)))

    def _draw_priority(self) -> bool:
        return bool(self._rng.random() < self._rules.low_priority_share)
