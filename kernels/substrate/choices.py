"""Every nondeterministic choice of a virtual machine goes through one `Choices` object.

Owns: the seam, the seeded source, and the recorder. Does not own: the order of ties, which is insertion order.
Floor 1. Source: common random numbers (facts/concurrency.md section 8: one counter-based stream per purpose).

A choice is asked for under a *key* (stream, point, layer). Draws of one key are a sequence of their own, so two arms
with one seed meet the same luck at the same operation, and one more operation on one stream shifts nothing elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import Protocol

import numpy as np

from kernels.substrate.contract import Delay

_BLOCK_DRAWS = 64


class Choices(Protocol):
    """What decides how long things take. A search replaces it by a strategy."""

    def stretch(self, key: str, sigma: float) -> float:
        """By what factor the next operation under `key` is longer than its cost says; mean 1, never 0."""

    def delay_ns(self, key: str, delay: Delay) -> int:
        """How long the next operation under `key` is held by an injected delay."""


def _normals(generator: np.random.Generator, count: int) -> list[float]:
    values: list[float] = generator.standard_normal(count).tolist()
    return values


def _uniforms(generator: np.random.Generator, count: int) -> list[float]:
    values: list[float] = generator.random(count).tolist()
    return values


def _exponentials(generator: np.random.Generator, count: int) -> list[float]:
    values: list[float] = generator.standard_exponential(count).tolist()
    return values


_LAWS: Mapping[str, Callable[[np.random.Generator, int], list[float]]] = MappingProxyType(
    {"stretch": _normals, "lognormal": _normals, "uniform": _uniforms, "exponential": _exponentials}
)
"""What a draw for each purpose looks like before it is scaled."""


class SeededChoices:
    """Choices drawn from one seed: Philox counters keyed by (seed, purpose, key)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._generators: dict[tuple[str, str], np.random.Generator] = {}
        # Draws wait here in blocks, last one next, because one NumPy call costs as much as a hundred draws.
        self._stretches: dict[str, list[float]] = {}
        self._delays: dict[tuple[str, str], list[float]] = {}

    def __repr__(self) -> str:
        return f"SeededChoices(seed={self.seed}, keys={len(self._generators)})"

    def stretch(self, key: str, sigma: float) -> float:
        if sigma <= 0.0:
            return 1.0
        block = self._stretches.get(key)
        if not block:
            block = self._stretches[key] = self._draw("stretch", key)
        # The shift keeps the mean at 1, so that jitter is not a hidden slowdown.
        return math.exp(sigma * block.pop() - 0.5 * sigma * sigma)

    def delay_ns(self, key: str, delay: Delay) -> int:
        kind, parameters = delay.distribution, delay.parameters
        if kind == "constant":
            return round(parameters[0])
        if kind == "uniform":
            low, high = parameters
            return round(low + (high - low) * self._next(kind, key))
        if kind == "lognormal":
            median, sigma = parameters
            return round(median * math.exp(sigma * self._next(kind, key)))
        assert kind == "exponential", f"delay distribution '{kind}' has no sampler"
        return round(parameters[0] * self._next(kind, key))

    def _next(self, purpose: str, key: str) -> float:
        block = self._delays.get((purpose, key))
        if not block:
            block = self._delays[purpose, key] = self._draw(purpose, key)
        return block.pop()

    def _draw(self, purpose: str, key: str) -> list[float]:
        generator = self._generators.get((purpose, key))
        if generator is None:
            name = f"{self.seed}/{purpose}/{key}".encode()
            counter_key = int.from_bytes(blake2b(name, digest_size=16).digest(), "little")
            generator = self._generators[purpose, key] = np.random.Generator(np.random.Philox(key=counter_key))
        return _LAWS[purpose](generator, _BLOCK_DRAWS)[::-1]


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice that was made: `purpose` is `stretch` or `delay`, value a factor or nanoseconds."""

    purpose: str
    key: str
    value: float


class RecordingChoices:
    """Passes every question on and keeps the answers, in the order in which they were given."""

    def __init__(self, inner: Choices) -> None:
        self.inner = inner
        self.taken: list[Choice] = []

    def __repr__(self) -> str:
        return f"RecordingChoices({self.inner!r}, taken={len(self.taken)})"

    def stretch(self, key: str, sigma: float) -> float:
        value = self.inner.stretch(key, sigma)
        self.taken.append(Choice("stretch", key, value))
        return value

    def delay_ns(self, key: str, delay: Delay) -> int:
        value = self.inner.delay_ns(key, delay)
        self.taken.append(Choice("delay", key, value))
        return value
