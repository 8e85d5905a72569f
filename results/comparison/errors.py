"""Refusals to compare, each with the difference named.

Owns: the texts. Floor 3.
"""

from __future__ import annotations

from kernels.errors import ConfigError


class NotComparable(ConfigError):
    """Two things that were named for a comparison, and why no difference between them would mean anything."""

    def __init__(self, first: str, second: str, why: str) -> None:
        self.first = first
        self.second = second
        self.why = why
        super().__init__(f"{first} and {second} are not comparable: {why}", key="compare", value=second)
