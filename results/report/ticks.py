"""Round numbers for axes: steps of 1, 2 or 5 times a power of ten.

Owns: steps and ticks. Does not own: where they are drawn. Floor 3. Source: Heckbert, "Nice numbers for graph labels",
Graphics Gems (1990).
"""

from __future__ import annotations

from math import ceil, floor, log10

_SLACK = 1e-9


def round_step(at_least: float) -> float:
    """The smallest of 1, 2, 5, 10, ... times a power of ten that is at least `at_least`."""
    if at_least <= 0:
        return 1.0
    power = 10.0 ** floor(log10(at_least) + _SLACK)
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= at_least * (1 - _SLACK))


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers in [low, high], at most `most` of them, evenly spaced."""
    step = round_step((high - low) / most)
    return [number * step for number in range(ceil(low / step - _SLACK), floor(high / step + _SLACK) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten in [low, high]; with fewer than three of them also 2 and 5 times each."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        found = [factor * 10.0**power for power in powers for factor in factors]
        inside = [tick for tick in found if low * (1 - _SLACK) <= tick <= high * (1 + _SLACK)]
        if len(inside) >= 3:
            break
    return inside


def short(value: float) -> str:
    """A tick's text: 0.05, 3, 12k, 1.5M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (10 if unit == "k" else 1):
            return f"{value / size:g}{unit}"
    return f"{round(value, 9):,.6g}"
