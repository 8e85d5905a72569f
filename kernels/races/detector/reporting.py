"""Reporting: from unordered accesses to races, one for each buffer, layer, pair of lanes and kinds of operation.

Owns: the races found, how often each was seen. Does not own: finding the pairs (`memory.py`). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from kernels.races.detector.footprint import Footprints
from kernels.races.detector.grouping import Groups, numbered
from kernels.races.detector.race import Race, Side
from kernels.races.detector.segment import Accesses, Segment
from kernels.substrate.columns import Bools, BufferFacts, Ints, Tables


@dataclass(slots=True, eq=False)
class TracedBuffer:
    """What was declared, in which row, and for each lane its last read and its last write of any page."""

    facts: BufferFacts
    row: int
    last: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))

    @property
    def extent(self) -> int:
        """How many pages it has, or bytes."""
        return self.facts.pages or self.facts.size_bytes


class Hits(NamedTuple):
    """Unordered accesses to one page, [n]: y is in a segment, x in the newest one; it stands for so many `times`."""

    segment: Ints
    x: Ints
    y: Ints
    times: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Further pairs of a race, made into objects only where somebody asks."""

    mine: Accesses
    segments: Sequence[Segment]
    hits: Hits
    is_first: Bools

    def __len__(self) -> int:
        return len(self.hits.x)

    def __iter__(self) -> Iterator[tuple[Side, Side]]:
        return (self.pair(at) for at in range(len(self)))

    def pair(self, at: int) -> tuple[Side, Side]:
        """The two sides in the order in which they were issued."""
        theirs = self.segments[self.hits.segment[at]].accesses
        sides = side_of(self.mine, int(self.hits.x[at])), side_of(theirs, int(self.hits.y[at]))
        return sides if self.is_first[at] else (sides[1], sides[0])

    def first(self, count: int) -> Repeats:
        return self if count >= len(self) else self.some(np.arange(count))

    def some(self, which: Ints) -> Repeats:
        hits = Hits(*(column[which] for column in self.hits))
        return Repeats(self.mine, self.segments, hits, self.is_first[which])


class Found:
    """The races of one trace, in the order in which they were found."""

    def __init__(self, tables: Tables, footprints: Footprints, buffers: Sequence[TracedBuffer]) -> None:
        self._tables = tables
        self._footprints = footprints
        self._buffers = buffers
        self._races: dict[tuple[int, ...], Race] = {}
        self._shared_layers: dict[tuple[int, int], Ints] = {}

    @property
    def races(self) -> list[Race]:
        return list(self._races.values())

    def __repr__(self) -> str:
        return f"Found({len(self._races)} races)"

    def add(self, parts: Sequence[Hits], segments: Sequence[Segment]) -> None:
        """All hits of the newest segment."""
        hits = Hits(*(np.concatenate(column) for column in zip(*parts, strict=True))) if parts else None
        if hits is None or not len(hits.x):
            return
        mine = segments[-1].accesses
        theirs = _gathered(hits, segments)
        # By the access that came later; of several partners the nearest is shown.
        order = np.lexsort((-theirs["row"], -hits.segment, hits.x))
        owner, layer = self._layers(mine.layers[hits.x[order]], theirs["layers"][order])
        at = order[owner]
        hits = Hits(*(column[at] for column in hits))
        theirs = {name: column[at] for name, column in theirs.items()}
        is_first = mine.ordinal[hits.x] < theirs["ordinal"]
        keys = [mine.buffer[hits.x], layer]
        for name in ("lane", "write", "pattern"):
            ours = getattr(mine, name)[hits.x]
            keys += [np.where(is_first, ours, theirs[name]), np.where(is_first, theirs[name], ours)]
        pairs = Repeats(mine, segments, hits, is_first)
        firsts, group = numbered(keys)
        for (_, members), first in zip(Groups(group), firsts.tolist(), strict=True):
            self._add(tuple(int(column[first]) for column in keys), pairs, members)

    def layers_meet(self, ours: Ints, theirs: Ints) -> Bools:
        """[n] whether two layer sets have a layer in common."""
        firsts, group = numbered((ours, theirs))
        meets = [len(self._shared(int(ours[at]), int(theirs[at]))) > 0 for at in firsts.tolist()]
        return np.array(meets, bool)[group]

    def _add(self, key: tuple[int, ...], pairs: Repeats, members: Ints) -> None:
        count = int(pairs.hits.times[members].sum())
        race = self._races.get(key)
        if race is None:
            at, others = int(members[0]), members[1:]
            buffer = self._buffers[key[0]].facts
            theirs = pairs.segments[pairs.hits.segment[at]].accesses
            shared = self._footprints.shared(
                int(pairs.mine.pages[pairs.hits.x[at]]), int(theirs.pages[pairs.hits.y[at]]), by_bytes=not buffer.pages
            )
            self._races[key] = race = Race(buffer.name, key[1], shared, *pairs.pair(at))
            race.repeat(count - 1, pairs.some(others))
        else:
            race.repeat(count, pairs.some(members))

    def _layers(self, ours: Ints, theirs: Ints) -> tuple[Ints, Ints]:
        """The layers that two accesses share, pair by pair: whose each is, and the layers."""
        firsts, group = numbered((ours, theirs))
        shared = [self._shared(int(ours[at]), int(theirs[at])) for at in firsts.tolist()]
        sizes = np.array([len(layers) for layers in shared], np.int64)
        owner = np.repeat(np.arange(len(ours)), sizes[group])
        return owner, np.concatenate([shared[which] for which in group.tolist()])

    def _shared(self, ours: int, theirs: int) -> Ints:
        known = self._shared_layers.get((ours, theirs))
        if known is None:
            sets = list(self._tables.layers)
            layers = [layer for layer in sets[ours] if layer in sets[theirs]]
            known = self._shared_layers[ours, theirs] = np.array(layers, np.int64)
        return known


def side_of(accesses: Accesses, at: int) -> Side:
    return Side(accesses.source.operation(int(accesses.row[at])), bool(accesses.write[at]), int(accesses.place[at]))


def _gathered(hits: Hits, segments: Sequence[Segment]) -> dict[str, Ints]:
    """What is told of the other side of each hit."""
    columns: dict[str, Ints] = {}
    for name in ("row", "ordinal", "lane", "write", "pattern", "layers"):
        column = np.empty(len(hits.y), np.int64)
        for number, members in Groups(hits.segment):
            column[members] = getattr(segments[number].accesses, name)[hits.y[members]]
        columns[name] = column
    return columns
