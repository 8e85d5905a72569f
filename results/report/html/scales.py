"""From data to pixels: linear and logarithmic scales.

Owns: the mapping and the ticks that belong to it. Floor 3. Source: ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log10

from results.report.html.marks import Tick
from results.report.ticks import log_ticks, short, ticks


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps [low, high] to [begin, end]; `is_log` by the logarithm. An empty span is widened to both sides."""

    low: float
    high: float
    begin: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high, x = self.low, self.high, value
        if self.is_log:
            low, high, x = log10(low), log10(high), log10(max(value, self.low))
        share = (x - low) / (high - low) if high > low else 0.5
        return self.begin + share * (self.end - self.begin)

    def ticks(self, most: int) -> tuple[Tick, ...]:
        found = log_ticks(self.low, self.high) if self.is_log else ticks(self.low, self.high, most)
        return tuple(Tick(self(value), short(value)) for value in found)

    def percents(self, most: int) -> tuple[Tick, ...]:
        """Ticks of shares, as percents."""
        return tuple(Tick(self(value), f"{100 * value:.4g} %") for value in ticks(self.low, self.high, most))


def rate_top(highest: float) -> float:
    """The end of an axis of shares: a little above what is drawn, and never below 5 % or above 100 %."""
    return min(1.0, max(0.05, highest * 1.08))


def log_span(values: list[float]) -> tuple[float, float]:
    """Ends of a logarithmic axis that holds all positive values, at least a factor of three apart."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    return (low / 1.3, high * 1.3) if high / low >= 3 else (low / 2, high * 2)
