"""The scenes of the coverage study: sessions in seeds whose dependence is known, and the tables that results go into.

Owns: how counts are drawn, and what a table is. Does not own: the procedures that are put to the test. Each seed has a
chance of its own from a beta law, so its sessions are correlated by exactly `correlation` (beta-binomial).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SESSIONS = 60
RATES = (0.01, 0.05, 0.15)
CORRELATIONS = (0.0, 0.02, 0.1)

Counts = NDArray[np.int64]
Cell = str | float | int


@dataclass(frozen=True, slots=True)
class Table:
    """name: of its block in docs/statistics.md. columns, rows: as shown. repeats: simulated runs behind each figure."""

    name: str
    repeats: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def draw(rng: np.random.Generator, rate: float, correlation: float, seeds: int, repeats: int) -> Counts:
    """[repeat, seed] int64: corrupted sessions out of `SESSIONS`."""
    return rng.binomial(SESSIONS, chances(rng, rate, correlation, (repeats, seeds)))


def chances(rng: np.random.Generator, rate: float, correlation: float, shape: tuple[int, int]) -> NDArray[np.float64]:
    """One chance a seed, with mean `rate`."""
    if correlation == 0 or rate == 0:
        return np.full(shape, rate)
    strength = 1 / correlation - 1
    return rng.beta(rate * strength, (1 - rate) * strength, shape)


def effect_of(correlation: float) -> float:
    """The true design effect of a scene."""
    return 1 + (SESSIONS - 1) * correlation


def scene_cells(rate: float, correlation: float) -> tuple[str, str]:
    return f"{100 * rate:g} %", f"{effect_of(correlation):.1f}"


def share(hits: int, repeats: int) -> str:
    """A share of simulated runs in percent, or a whole one as such."""
    return f"{100 * hits / repeats:.1f} %"
