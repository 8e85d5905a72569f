"""A breach: a law that an execution breaks, at one operation, in one sentence.

Owns: the record and the names of the laws. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import NamedTuple

from kernels.races.laws.history import History


class LawName(StrEnum):
    """What each law demands."""

    COMPANIONS = "companions"
    """Every pool that a page has is moved with it."""
    ROWS = "rows"
    """A copy moves whole rows, each part to its own place."""
    OWNERS = "owners"
    """No two owners at a time have one byte, and nobody touches what is another's."""
    DRAIN = "drain"
    """A range is freed only by who knows that all transfers on it are over."""
    PUBLISHED = "published"
    """What can be found was written."""
    KEYS = "keys"
    """One key, one content, and the other way round."""
    RANKS = "ranks"
    """All ranks decide the same, in the same order."""
    FAILURES = "failures"
    """What failed is not announced as done."""
    ENDINGS = "endings"
    """Every request ends."""


class Breach(NamedTuple):
    """ordinal: of the operation or mark at which the law is broken, in host issue order."""

    law: LawName
    ordinal: int
    what: str

    def __str__(self) -> str:
        return f"{self.law}: #{self.ordinal} {self.what}"


Law = Callable[[History], Iterable[Breach]]
