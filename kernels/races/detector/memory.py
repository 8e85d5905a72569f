"""The memory of a trace: all buffers' shadows, and the races found in them.

Owns: turning an operation's accesses into comparisons, races, and complaints about undeclared accesses. Does not own:
clocks (`clocks.py`) or edges (`detector.py`). Floor 2b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kernels.races.detector.clocks import Lane
from kernels.races.detector.footprint import ByteRanges, Footprint, Masks
from kernels.races.detector.race import Race, Side, pattern_of
from kernels.races.detector.shadow import Entry, Shadow, Unordered
from kernels.substrate.trace import Access, Operation

_MANY_ACCESSES = 8
_RaceKey = tuple[str, int, int, int, bool, bool, str, str]


class Touch(NamedTuple):
    """One access with its footprint worked out."""

    is_write: bool
    buffer: str
    layers: Sequence[int]
    footprint: Footprint


class TracedMemory:
    """All buffers of one trace. `blame` is told of what makes the trace unjudgeable."""

    def __init__(self, blame: Callable[[str], None]) -> None:
        self.shadows: dict[str, Shadow] = {}
        self.found: dict[_RaceKey, Race] = {}
        self._blame = blame
        self._masks = Masks()
        self._patterns: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"TracedMemory(buffers={len(self.shadows)}, races={len(self.found)})"

    def declare(self, name: str, layer_count: int, page_count: int) -> None:
        """A buffer came into being; page_count 0: it is accessed by bytes."""
        if name in self.shadows:
            self._blame(f"there is a buffer '{name}' already")
        self.shadows[name] = Shadow(name, layer_count, page_count)

    def access(self, lane: Lane, operation: Operation) -> None:
        """Judge and remember what an operation touches. The hot path of every trace."""
        accesses = operation.accesses
        if len(accesses) > _MANY_ACCESSES:
            self.touch(lane, operation, self._merged(accesses))
            return
        by_id, shadows, index, known = self._masks.by_id, self.shadows, lane.index, lane.known
        for is_write, region in accesses:
            pages, layers = region.pages, region.layers
            cached = by_id.get(id(pages))
            mask = self._masks.add(pages) if cached is None else cached[1]
            shadow = shadows.get(region.buffer.name)
            if shadow is None or mask >> shadow.page_count:
                self._blame_access(operation, region.buffer.name)
            elif len(layers) == 1 and 0 <= layers[0] < shadow.layer_count:
                # The most frequent case by far, spelled out: one layer of a buffer.
                cell, entry = shadow.by_layer[layers[0]], (lane.count, mask, operation, layers)
                if not shadow.is_settled(index, known, is_write):
                    found = cell.unordered(index, known, mask, is_write)
                    if shadow.wide is not None:
                        found += shadow.wide.unordered(index, known, mask, is_write)
                    if found:
                        self._report(lane, entry, is_write, found, shadow)
                cell.add(index, entry, is_write)
                if shadow.flat is not None:
                    shadow.flat.add(index, entry, is_write)
                (shadow.last_writes if is_write else shadow.last_reads)[index] = lane.count
            elif mask and layers:
                self._touch_layers(lane, operation, shadow, is_write, layers, mask)

    def touch(self, lane: Lane, operation: Operation, touches: Iterable[Touch]) -> None:
        """The same for accesses whose footprints are worked out, by pages or by bytes."""
        for is_write, buffer, layers, footprint in touches:
            shadow = self.shadows.get(buffer)
            if shadow is None:
                self._blame_access(operation, buffer)
            elif isinstance(footprint, ByteRanges) == bool(shadow.page_count):
                self._blame_access(operation, f"{buffer} by {'bytes' if shadow.page_count else 'pages'}")
            elif isinstance(footprint, int) and footprint >> shadow.page_count:
                self._blame_access(operation, buffer)
            elif footprint:
                self._touch_layers(lane, operation, shadow, is_write, layers, footprint)

    def _merged(self, accesses: Iterable[Access]) -> Iterable[Touch]:
        """A decode step reads every page of every running request: one touch for each buffer and set of layers."""
        masks: dict[tuple[bool, str, tuple[int, ...]], int] = {}
        by_id = self._masks.by_id
        for is_write, region in accesses:
            pages = region.pages
            cached = by_id.get(id(pages))
            mask = self._masks.add(pages) if cached is None else cached[1]
            key = (is_write, region.buffer.name, region.layers)
            masks[key] = masks.get(key, 0) | mask
        return [Touch(*key, mask) for key, mask in masks.items()]

    def _touch_layers(
        self,
        lane: Lane,
        operation: Operation,
        shadow: Shadow,
        is_write: bool,
        layers: Sequence[int],
        footprint: Footprint,
    ) -> None:
        if min(layers) < 0 or max(layers) >= shadow.layer_count:
            self._blame_access(operation, f"{shadow.name} layers {layers}")
            return
        entry = (lane.count, footprint, operation, layers)
        if not shadow.is_settled(lane.index, lane.known, is_write):
            for cell in shadow.cells(layers):
                found = cell.unordered(lane.index, lane.known, footprint, is_write)
                if found:
                    self._report(lane, entry, is_write, found, shadow)
        shadow.add(lane.index, entry, is_write)

    def _report(
        self, lane: Lane, entry: Entry, is_write: bool, found: Iterable[tuple[bool, Unordered]], shadow: Shadow
    ) -> None:
        count, _, operation, layers = entry
        mine = Side(operation, is_write, count)
        for found_writes, (other, (other_count, _, other_operation, other_layers), overlap) in found:
            if other_operation is operation:
                continue
            theirs = Side(other_operation, found_writes, other_count)
            is_first = operation.ordinal < other_operation.ordinal
            first, second = (mine, theirs) if is_first else (theirs, mine)
            pair = (lane.index, other) if is_first else (other, lane.index)
            labels = self._pattern(first.operation.label), self._pattern(second.operation.label)
            for layer in layers:
                if layer not in other_layers:
                    continue
                key = (shadow.name, layer, *pair, first.is_write, second.is_write, *labels)
                known = self.found.get(key)
                if known is None:
                    self.found[key] = Race(shadow.name, layer, overlap, first, second)
                else:
                    known.repeat(first, second)

    def _pattern(self, label: str) -> str:
        pattern = self._patterns.get(label)
        if pattern is None:
            pattern = self._patterns[label] = pattern_of(label)
        return pattern

    def _blame_access(self, operation: Operation, where: str) -> None:
        self._blame(
            f"{operation.label} (#{operation.ordinal}) on {operation.stream} touches {where}: undeclared access"
        )
