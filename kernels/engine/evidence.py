"""What the machine knows about one request: what it hit, what it read too early, what it read that was poisoned.

Owns: counting page reads from PageViews. Does not own: verdicts (`results` judges stored records) or the
records' file format. Floor 2c.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import PageView

SAMPLE_MAX = 8


@dataclass(frozen=True, slots=True)
class EarlyRead:
    """Pages of one pool and layer that one kernel read before their bytes had arrived.

    late_ns: how long after its read the last of these pages arrived; -1 where it had not when the run ended.
    torn: how many of the pages were read half old, half new.
    """

    pool: str
    layer: int
    pages: tuple[int, ...]
    late_ns: int
    torn: int


@dataclass(slots=True)
class RequestEvidence:
    """Running totals of one request; page reads are counted per page, layer, pool and rank."""

    device_hit_tokens: int = 0
    host_hit_tokens: int = 0
    new_tokens: int = 0
    batch: int = 0
    poisoned_reads: int = 0
    decode_stale_reads: int = 0
    stale_layers: set[tuple[str, int]] = field(default_factory=set)
    stale: list[tuple[str, int, PageView, NDArray[np.intp], slice]] = field(default_factory=list)

    def note(self, pool: str, layer: int, view: PageView, span: slice) -> None:
        """Count what this request's pages, the columns `span` of the view, show of early reads."""
        early = np.flatnonzero(view.stale[0, span])
        if len(early):
            self.stale_layers.add((pool, layer))
            self.stale.append((pool, layer, view, early, span))

    @property
    def stale_reads(self) -> int:
        return sum(len(early) for _, _, _, early, _ in self.stale)

    @property
    def torn_reads(self) -> int:
        return sum(read.torn for read in self._reads())

    @property
    def late_ns_max(self) -> int | None:
        return max((read.late_ns for read in self._reads()), default=None)

    def sample(self) -> tuple[EarlyRead, ...]:
        """The first early reads, in the order in which they happened; call it once the loads have landed."""
        return tuple(read for read, _ in zip(self._reads(), range(SAMPLE_MAX), strict=False))

    def _reads(self) -> Iterable[EarlyRead]:
        for pool, layer, view, early, span in self.stale:
            pages = view.region.pages[span][early]
            torn = view.tear[0, span][early] < 1.0
            late = view.late_ns[0, span][early]
            yield EarlyRead(pool, layer, tuple(int(p) for p in pages), int(late.max()), int(torn.sum()))
