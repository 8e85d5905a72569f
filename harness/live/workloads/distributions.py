"""Distributions of whole numbers, as vLLM's description of conversations names them.

Owns: their fields, bounds and drawing. Does not own: what is drawn. Floor 5. Source: vLLM's benchmarks/multi_turn
README for the names; the formulas are those of the distributions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from types import MappingProxyType
from typing import Final

import numpy as np

from harness.live.workloads.entries import KEY, Entry
from kernels.errors import ConfigError

NUMBER_MAX: Final = 10_000_000
_MEDIAN_RATIO: Final = 0.85
"""Of the median to the mean of a lognormal, where only its average is given."""
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({
    "constant": ("value",),
    "uniform": ("min", "max"),
    "lognormal": ("average", "median_ratio", "mean", "sigma", "max"),
    "zipf": ("alpha", "max"),
    "poisson": ("alpha", "max"),
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Distribution:
    """kind: a name of `_FIELDS`. low, high: of uniform, both included. mean, sigma: of the logarithm. most: a cap."""

    kind: str
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    alpha: float = 0.0
    mean: float = 0.0
    sigma: float = 0.0
    most: float | None = None

    def draw(self, rng: np.random.Generator) -> int:
        drawn = self._drawn(rng)
        return round(min(drawn, NUMBER_MAX if self.most is None else self.most))

    def _drawn(self, rng: np.random.Generator) -> float:
        match self.kind:
            case "constant":
                return self.value
            case "uniform":
                return float(rng.integers(round(self.low), round(self.high) + 1))
            case "lognormal":
                return float(rng.lognormal(self.mean, self.sigma))
            case "zipf":
                return float(rng.zipf(self.alpha))
            case _:
                return float(rng.poisson(self.alpha))

    @property
    def average(self) -> float:
        """Of a lognormal, before any cap."""
        return exp(self.mean + self.sigma**2 / 2)


def read_distribution(entry: Entry, name: str) -> Distribution:
    """Raises: ConfigError for an unknown distribution, a missing field, and a value out of bounds."""
    inner = Entry(entry.file, entry.line, entry.field(name, dict))
    kind = inner.field("distribution", str)
    if kind not in _FIELDS:
        what = f"'{name}': unknown distribution '{kind}'"
        raise ConfigError(what, key=KEY, value=kind, allowed=tuple(_FIELDS), file=entry.file, line=entry.line)
    given = {field: inner.optional(field, float) for field in _FIELDS[kind]}
    values = {field: float(value) for field, value in given.items() if value is not None}
    made = _made(kind, values)
    if made is None:
        raise entry.refuse(f"'{name}': {_WANTED[kind]}")
    return made


_WANTED: Final[Mapping[str, str]] = MappingProxyType({
    "constant": f"constant needs a value from 0 to {NUMBER_MAX:,}",
    "uniform": f"uniform needs min and max, 0 <= min <= max <= {NUMBER_MAX:,}",
    "lognormal": "lognormal needs an average of 1 or more (and a median_ratio between 0 and 1), or mean and sigma >= 0",
    "zipf": "zipf needs an alpha of more than 1",
    "poisson": f"poisson needs an alpha from 0 to {NUMBER_MAX:,}",
})  # fmt: skip


def _made(kind: str, values: Mapping[str, float]) -> Distribution | None:
    """None where a value is missing or out of bounds."""
    most, alpha = values.get("max"), values.get("alpha", -1.0)
    match kind:
        case "constant":
            value = values.get("value", -1.0)
            return Distribution(kind, value=value) if 0 <= value <= NUMBER_MAX else None
        case "uniform":
            low, high = values.get("min", -1.0), values.get("max", -1.0)
            return Distribution(kind, low=low, high=high) if 0 <= low <= high <= NUMBER_MAX else None
        case "lognormal":
            return _lognormal(values, most)
        case "zipf":
            return Distribution(kind, alpha=alpha, most=most) if alpha > 1 else None
        case _:
            return Distribution(kind, alpha=alpha, most=most) if 0 <= alpha <= NUMBER_MAX else None


def _lognormal(values: Mapping[str, float], most: float | None) -> Distribution | None:
    average, ratio = values.get("average"), values.get("median_ratio", _MEDIAN_RATIO)
    if average is not None:
        if average < 1 or not 0 < ratio < 1 or "mean" in values or "sigma" in values:
            return None
        # The median is e^mean, and the average e^(mean + sigma^2 / 2).
        return Distribution("lognormal", mean=log(average * ratio), sigma=sqrt(-2 * log(ratio)), most=most)
    mean, sigma = values.get("mean"), values.get("sigma", -1.0)
    return Distribution("lognormal", mean=mean, sigma=sigma, most=most) if mean is not None and sigma >= 0 else None
