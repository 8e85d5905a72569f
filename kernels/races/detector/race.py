"""A race: two accesses to one range, at least one a write, that nothing orders.

Owns: the records of found races and their signature. Does not own: the missing edge's name (naming). Floor 2b.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import NamedTuple, Protocol

from kernels.races.detector.footprint import Footprint, intervals_of
from kernels.substrate.trace import Operation

REPEATS_KEPT = 256

_DIGITS = re.compile(r"\d+")


def pattern_of(name: str) -> str:
    """A name with its numbers taken out: `index_k[layer 7]` and `index_k[layer 8]` are one kind of thing."""
    return _DIGITS.sub("#", name)


class Side(NamedTuple):
    """One of the two accesses."""

    operation: Operation
    is_write: bool
    place: int
    """Its operation's place in its lane, from 1."""


class SomePairs(Protocol):
    """Pairs of sides, first and second, which are made when they are asked for."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[tuple[Side, Side]]: ...

    def first(self, count: int) -> SomePairs:
        """At most so many of them."""


class Signature(NamedTuple):
    """What makes two races the same finding: buffer, the two operations' kinds and places, but no numbers."""

    buffer: str
    first: str
    second: str


@dataclass(slots=True, eq=False)
class Race:
    """Two unordered accesses. `first` was issued first: host issue order promises its effect to `second`.

    layer: the buffer's own. footprint: the pages (or bytes) that both touch. repeats: how many further pairs of
    accesses there are between the same two streams on this layer with these kinds of operation; up to `REPEATS_KEPT`
    of them are in `more`, without their pages, and one stands there for all that repeat it on the same pages.
    """

    buffer: str
    layer: int
    footprint: Footprint
    first: Side
    second: Side
    repeats: int = 0
    more: list[SomePairs] = field(default_factory=list)

    def repeat(self, count: int, pairs: SomePairs) -> None:
        """Further pairs of the same kind. Effect: counted, and kept while there are few."""
        self.repeats += count
        room = REPEATS_KEPT - sum(map(len, self.more))
        if room and len(pairs):
            self.more.append(pairs.first(room))

    def each(self) -> Iterator[Race]:
        """This race and every kept repeat, as races of their own."""
        yield self
        for first, second in chain.from_iterable(self.more):
            yield Race(self.buffer, self.layer, self.footprint, first, second)

    @property
    def signature(self) -> Signature:
        return Signature(pattern_of(self.buffer), _side_pattern(self.first), _side_pattern(self.second))

    @property
    def kind(self) -> str:
        """`write-read`, `read-write` or `write-write`, in the promised order."""
        return "-".join("write" if side.is_write else "read" for side in (self.first, self.second))

    @property
    def intervals(self) -> tuple[tuple[int, int], ...]:
        """Half-open intervals of pages, or of bytes, that both touch."""
        return intervals_of(self.footprint)


def _side_pattern(side: Side) -> str:
    operation = side.operation
    mode = "write" if side.is_write else "read"
    return f"{mode} {operation.kind} {pattern_of(operation.stream)} {pattern_of(operation.label)}"


class Verdict(StrEnum):
    """What a trace says about order. `UNKNOWN` is never a pass."""

    CLEAN = "clean"
    RACES = "races"
    UNKNOWN = "unknown"


class Problem(NamedTuple):
    """Why a trace cannot be judged: the row (from 1; the line of a file) and a sentence."""

    row: int
    reason: str
