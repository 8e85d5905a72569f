"""The law of rows: a copy moves whole rows, each part to its own place in a row of the same parts.

Owns: the law, and canaries: versions that carry the number of the row and the part, and a kernel body that reads them.
Needs: `rows`. Floor 2b. Source: facts/bugs.md class 10 (GEOMETRY): a host row that is narrower than the device's, an id
taken for an index, a packed layout read as another of the same shape.

A buffer's pages are the parts of its rows here (key, value, scale), as many to a row as were said. The law looks at the
copies, so it also speaks where no reader checks; the canary looks at the bytes, and so also catches a wrong number that
no copy made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from kernels.races.identity import ORDERED_YET_STALE
from kernels.races.laws.breach import Breach, LawName
from kernels.races.laws.history import History, Touched
from kernels.substrate.contract import KernelBody, PageIds, PageView, Versions


def rows(history: History) -> Iterator[Breach]:
    """One breach for each copy that cuts, shifts or permutes a row."""
    parts: dict[str, Sequence[str]] = {mark["buffer"]: mark["parts"] for mark in history.marks_of("rows")}
    for step in history.steps:
        what = _fault(*step.ends, parts) if parts and step.ends is not None else ""
        if what:
            yield Breach(LawName.ROWS, step.ordinal, f"{step.label} {what}")


def _fault(source: Touched, target: Touched, parts: Mapping[str, Sequence[str]]) -> str:
    theirs, ours = parts.get(source.buffer), parts.get(target.buffer)
    if theirs is None or ours is None:
        return ""
    if sorted(theirs) != sorted(ours):
        lost = sorted({*theirs} ^ {*ours})
        return (
            f"copies rows of {len(theirs)} parts ({source.buffer}) into rows of {len(ours)} ({target.buffer}): "
            f"{', '.join(lost)} has no place"
        )
    moved: dict[int, list[tuple[str, int]]] = {}
    for origin, page in zip(source.pages, target.pages, strict=True):
        part, row = theirs[origin % len(theirs)], origin // len(theirs)
        if ours[page % len(ours)] != part:
            return f"puts part {part} of {source.buffer} row {row} where {target.buffer} has {ours[page % len(ours)]}"
        moved.setdefault(row, []).append((part, page // len(ours)))
    for row, places in moved.items():
        missing = sorted({*theirs} - {part for part, _ in places})
        if missing:
            return f"leaves out {', '.join(missing)} of {source.buffer} row {row}"
        if len({into for _, into in places}) > 1:
            return f"scatters {source.buffer} row {row} over several rows of {target.buffer}"
    return ""


def row_pages(numbers: Sequence[int], part_count: int) -> PageIds:
    """The pages of whole rows."""
    return np.array([row * part_count + part for row in numbers for part in range(part_count)], dtype=np.int64)


def canaries(numbers: Sequence[int], part_count: int) -> Versions:
    """Versions for these rows, part by part: which row and part a page was written for can be read from each."""
    return row_pages(numbers, part_count) + 1


def expects_canaries(numbers: Sequence[int], part_count: int) -> KernelBody:
    """A body that fails where what it reads, in order, are not these rows, part by part."""
    meant = canaries(numbers, part_count)

    def body(views: Sequence[PageView]) -> None:
        for view in views:
            odd = np.flatnonzero((view.head[0] != meant) & ~view.stale[0])
            if len(odd):
                found, at = int(view.head[0, odd[0]]), int(odd[0])
                raise AssertionError(
                    f"{ORDERED_YET_STALE}: {view.region.buffer.name} page {view.region.pages[at]} should hold "
                    f"{_canary(int(meant[at]), part_count)}, and holds {_canary(found, part_count)}"
                )

    return body


def _canary(version: int, part_count: int) -> str:
    return f"row {(version - 1) // part_count} part {(version - 1) % part_count}" if version else "nothing"
