"""Shadow memory: who touched which pages of a buffer, kept per layer and lane.

Owns: the entries and the search for unordered overlapping ones. Does not own: clocks, or what a race is called.
Floor 2b. Source: ours, after FastTrack's read and write epochs.

Entries of one lane stand in the order of their counts, so those that a reader does not know to be over are the last
ones; in an ordered program one comparison with the very last entry settles a lane, and pages are not looked at. Only
among unordered entries are page masks compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from kernels.races.detector.clocks import Clock
from kernels.races.detector.footprint import Footprint
from kernels.substrate.trace import Operation

Entry = tuple[int, Footprint, Operation, Sequence[int]]
"""One access: its operation's place in its lane, what it touched, the operation, the layers it spans. A plain tuple,
because one is made for every access of a run."""

Entries = dict[int, list[Entry]]
"""Lane index -> its accesses, oldest first."""

Unordered = tuple[int, Entry, Footprint]
"""An access that is not known to be over: its lane, itself, the overlap."""


class Cell:
    """One layer of a buffer, or all its accesses that span several layers."""

    __slots__ = ("reads", "writes")

    def __init__(self) -> None:
        self.reads: Entries = {}
        self.writes: Entries = {}

    def __repr__(self) -> str:
        reads, writes = (sum(map(len, entries.values())) for entries in (self.reads, self.writes))
        return f"Cell(reads={reads}, writes={writes})"

    def unordered(self, lane: int, known: Clock, footprint: Footprint, is_write: bool) -> list[tuple[bool, Unordered]]:
        """Conflicting accesses by other lanes that `known` does not know to be over, each with whether it writes."""
        found: list[tuple[bool, Unordered]] = []
        for other, theirs in self.writes.items():
            if theirs[-1][0] > known.get(other, 0) and other != lane:
                found += [(True, one) for one in _overlapping(other, theirs, known, footprint)]
        if is_write:
            for other, theirs in self.reads.items():
                if theirs[-1][0] > known.get(other, 0) and other != lane:
                    found += [(False, one) for one in _overlapping(other, theirs, known, footprint)]
        return found

    def add(self, lane: int, entry: Entry, is_write: bool) -> None:
        """Remember an access. One with the same footprint replaces the lane's last: it is unordered whenever the
        earlier one is."""
        entries = self.writes if is_write else self.reads
        own = entries.get(lane)
        if own is None:
            entries[lane] = [entry]
        elif own[-1][1] is entry[1] and own[-1][3] == entry[3]:
            own[-1] = entry
        else:
            own.append(entry)


class Shadow:
    """One buffer."""

    __slots__ = ("by_layer", "flat", "last_reads", "last_writes", "layer_count", "name", "page_count", "wide")

    def __init__(self, name: str, layer_count: int, page_count: int) -> None:
        """page_count: 0 for a buffer that is accessed by bytes."""
        self.name = name
        self.layer_count = layer_count
        self.page_count = page_count
        self.by_layer = [Cell() for _ in range(layer_count)]
        # Backups and hand-offs touch all layers at once; they are compared with every layer, but stored only here.
        self.wide: Cell | None = None
        # All one-layer accesses once more, for comparison with wide ones; made when the first of those comes.
        self.flat: Cell | None = None
        # Lane index -> its last access to any page: in ordered stretches this settles an access without any cell.
        self.last_reads: dict[int, int] = {}
        self.last_writes: dict[int, int] = {}

    def is_settled(self, lane: int, known: Clock, is_write: bool) -> bool:
        """True where every conflicting access that other lanes made so far is known to be over."""
        for other, count in self.last_writes.items():
            if count > known.get(other, 0) and other != lane:
                return False
        if is_write:
            for other, count in self.last_reads.items():
                if count > known.get(other, 0) and other != lane:
                    return False
        return True

    def cells(self, layers: Sequence[int]) -> list[Cell]:
        """Where accesses that may share a layer with this one are found."""
        if len(layers) == 1:
            own = self.by_layer[layers[0]]
            return [own] if self.wide is None else [own, self.wide]
        self._know_wide()
        assert self.flat is not None and self.wide is not None
        return [self.flat, self.wide]

    def add(self, lane: int, entry: Entry, is_write: bool) -> None:
        """Remember an access."""
        layers = entry[3]
        if len(layers) == 1:
            self.by_layer[layers[0]].add(lane, entry, is_write)
            if self.flat is not None:
                self.flat.add(lane, entry, is_write)
        else:
            self._know_wide()
            assert self.wide is not None
            self.wide.add(lane, entry, is_write)
        (self.last_writes if is_write else self.last_reads)[lane] = entry[0]

    def _know_wide(self) -> None:
        if self.wide is not None:
            return
        self.wide, self.flat = Cell(), Cell()
        for ours, theirs in (("reads", self.flat.reads), ("writes", self.flat.writes)):
            for cell in self.by_layer:
                for lane, entries in getattr(cell, ours).items():
                    theirs.setdefault(lane, []).extend(entries)
            for entries in theirs.values():
                entries.sort(key=itemgetter(0))

    def __repr__(self) -> str:
        return f"Shadow({self.name}, layers={self.layer_count}, pages={self.page_count})"


def _overlapping(lane: int, entries: list[Entry], known: Clock, footprint: Footprint) -> list[Unordered]:
    over = known.get(lane, 0)
    found: list[Unordered] = []
    for entry in reversed(entries):
        if entry[0] <= over:
            break
        overlap = entry[1] & footprint  # type: ignore[operator]
        if overlap:
            found.append((lane, entry, overlap))
    return found
