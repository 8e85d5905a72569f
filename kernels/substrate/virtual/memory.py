"""Paged memory of the virtual machine: which version every page holds, and who is looking at it.

Owns: `VirtualBuffer` (the bytes that have landed, accesses in flight). Does not own: the ledger (`paged.py`), when the
pages of a copy land (`landing.py`). Floor 1.

`landed` changes when a landing is *settled*, at its end; its pages may have landed earlier, one after another. So
whoever looks at a moment in the past, or into a landing that is under way, goes through `landing.contents`. Settled
landings are remembered as long as some access that was under way at the time is still open, and no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import UNWRITTEN, PageIds, Versions
from kernels.substrate.paged import PagedBuffer

if TYPE_CHECKING:
    from kernels.substrate.virtual.landing import Landing
    from kernels.substrate.virtual.reading import LateWatch


class VirtualBuffer(PagedBuffer):
    """A paged pool. Versions only: content is the engine's."""

    def __init__(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> None:
        super().__init__(name, space=space, layer_count=layer_count, page_count=page_count, page_bytes=page_bytes)
        self.landed: Versions = np.full((layer_count, page_count), UNWRITTEN, dtype=np.int64)
        # When each access that is under way began: reads, and both sides of copies. A multiset; order means nothing.
        self.open_ns: list[int] = []
        # Landings under way, and after them the settled ones that are still remembered, in the order of settling.
        self.landings: list[Landing] = []
        self.late_watches: list[LateWatch] = []
        # Scratch for `places`: where a page stands in another walk; -1 everywhere between calls.
        self._position = np.full(page_count, -1, dtype=np.int64)

    def __repr__(self) -> str:
        written = int((self.landed != UNWRITTEN).sum())
        behind = int((self.landed != self.wanted).sum())
        return (
            f"VirtualBuffer({self.name}, {self.space}, {self.layer_count}x{self.page_count} pages of "
            f"{self.page_bytes} B, written={written}, behind={behind}, open={len(self.open_ns)}, "
            f"landings={len(self.landings)})"
        )

    def places(self, walked: PageIds, asked: PageIds) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which of `asked` [n] are in `walked` [m]: their indices in `asked`, and their places in `walked`."""
        self._position[walked] = np.arange(len(walked))
        place = self._position[asked]
        self._position[walked] = -1
        here = np.flatnonzero(place >= 0)
        return here, place[here]

    def close(self, begin_ns: int) -> None:
        """One access that began then is over. Effect: forgets landings that nobody open can have seen half done."""
        self.open_ns.remove(begin_ns)
        if self.landings:
            self.forget()

    def forget(self) -> None:
        """Drop what no open access, and no landing under way, can look back at."""
        since_ns = min(self.open_ns) if self.open_ns else None
        if since_ns is None:
            self.landings = []
        else:
            self.landings = still_visible(self.landings, since_ns)


def still_visible(landings: list[Landing], since_ns: int) -> list[Landing]:
    """The landings, in their order, that matter to someone who looks at a moment after `since_ns`."""
    return [landing for landing in landings if landing.settled_ns is None or landing.settled_ns > since_ns]
