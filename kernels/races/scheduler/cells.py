"""Cells: the memory of a machine without time. Each page is two cells, its front half and its back half.

Owns: which cell is which half page, and reading out cells fast. Does not own: what is written when. Floor 2b.

A copy lands in two steps, all front halves and then all back halves, so that a torn page is reachable with the fewest
steps. Which page lands first inside a step is not modelled: a copy promises nothing about that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter

from kernels.substrate.contract import Region

Values = tuple[int, ...]
Getter = Callable[[Sequence[int]], Values]

CellKey = tuple[str, int, int]
"""Buffer, layer, page."""


class CellMap:
    """Cells are handed out when a page is first touched; a program's runs share one map."""

    def __init__(self) -> None:
        self._fronts: dict[CellKey, int] = {}
        self.initial: list[int] = []
        """[cell] what memory holds before anything was written: a number of its own for every page, so that bytes of
        one unwritten page are told from those of another."""

    def __repr__(self) -> str:
        return f"CellMap({len(self._fronts)} pages)"

    def fronts(self, region: Region) -> tuple[int, ...]:
        """The front cells of a region's pages, in walking order; the back half of a page is the next cell."""
        pages, name = region.pages.tolist(), region.buffer.name
        return tuple(front for layer in region.layers for front in self.of_pages(name, layer, pages))

    def of_pages(self, buffer: str, layer: int, pages: Sequence[int]) -> list[int]:
        """The front cells of some pages of one layer. Effect: hands out cells to pages that have none."""
        known = self._fronts
        found: list[int] = []
        for page in pages:
            cell = known.get((buffer, layer, page))
            if cell is None:
                cell = known[buffer, layer, page] = len(self.initial)
                unwritten = -(cell // 2) - 1
                self.initial += (unwritten, unwritten)
            found.append(cell)
        return found


def halves(fronts: Sequence[int]) -> tuple[int, ...]:
    """Both cells of each page."""
    return tuple(cell for front in fronts for cell in (front, front + 1))


def getter(cells: Sequence[int]) -> Getter:
    """A function that picks these cells out of a memory, as a tuple."""
    if not cells:
        return lambda _: ()
    if len(cells) == 1:
        only = cells[0]
        return lambda memory: (memory[only],)
    return itemgetter(*cells)


def as_slice(cells: Sequence[int]) -> slice | None:
    """The slice that covers exactly these cells in this order; None where there is none.

    Cells are handed out in walking order, so the pages of a region that was touched as a whole first lie evenly.
    """
    if not cells:
        return None
    stride = cells[1] - cells[0] if len(cells) > 1 else 1
    if stride <= 0 or any(b - a != stride for a, b in pairwise(cells)):
        return None
    return slice(cells[0], cells[-1] + 1, stride)


def mask(cells: Sequence[int]) -> int:
    """A set of cells as bits."""
    bits = 0
    for cell in cells:
        bits |= 1 << cell
    return bits
