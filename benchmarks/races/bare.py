"""A bare generator scheduler: the floor under any scheduler in Python, with nothing that a user would want.

Owns: it. No replay, no recorded choices, no events, no waits, no versions to compare: two generators over one list, and
a random walk. Source: facts/concurrency.md section 2 (its prototype made 27,000 schedules a second of this program).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random


class BareCopies:
    """Copies and a reader. parts: steps of a copy; ours has two, the halves of a page."""

    def __init__(self, layers: int, parts: int, seed: int) -> None:
        self.stale = 0
        self.steps = 0
        self._layers = layers
        self._parts = parts
        self._random = Random(seed).random

    def schedule(self) -> None:
        """One random schedule, start to end."""
        device = [0] * (self._layers * self._parts)
        running = [self._copy(device), self._read(device)]
        while running:
            index = int(self._random() * len(running))
            if next(running[index], None) is None:
                running.pop(index)
            else:
                self.steps += 1

    def _copy(self, device: list[int]) -> Iterator[int]:
        for cell in range(len(device)):
            device[cell] = 1
            yield 1

    def _read(self, device: list[int]) -> Iterator[int]:
        parts = self._parts
        for layer in range(self._layers):
            if device[layer * parts : layer * parts + parts] != [1] * parts:
                self.stale += 1
            yield 1
