"""Paged memory of the virtual machine: which version every page holds, and which one it is promised to hold.

Owns: `VirtualBuffer` (the bytes that have landed, the ledger of host issue order, accesses in flight) and gather and
scatter over regions. Does not own: when the pages of a copy land (`landing.py`). Floor 1.

`landed` changes when a landing is *settled*, at its end; its pages may have landed earlier, one after another. So
whoever looks at a moment in the past, or into a landing that is under way, goes through `landing.contents`. Settled
landings are remembered as long as some access that was under way at the time is still open, and no longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import UNWRITTEN, PageIds, Region, Versions

if TYPE_CHECKING:
    from kernels.substrate.virtual.landing import Landing
    from kernels.substrate.virtual.reading import LateWatch

_CHECKED_MAX = 256


class VirtualBuffer:
    """A paged pool. Versions only: content is the engine's."""

    def __init__(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> None:
        assert layer_count > 0, f"buffer {name} has {layer_count} layers"
        assert page_count > 0, f"buffer {name} has {page_count} pages"
        assert page_bytes > 0, f"buffer {name} has pages of {page_bytes} bytes"
        self.name = name
        self.space = space
        self.layer_count = layer_count
        self.page_count = page_count
        self.page_bytes = page_bytes
        self.landed: Versions = np.full((layer_count, page_count), UNWRITTEN, dtype=np.int64)
        self.wanted: Versions = np.full((layer_count, page_count), UNWRITTEN, dtype=np.int64)
        # When each access that is under way began: reads, and both sides of copies. A multiset; order means nothing.
        self.open_ns: list[int] = []
        # Landings under way, and after them the settled ones that are still remembered, in the order of settling.
        self.landings: list[Landing] = []
        self.late_watches: list[LateWatch] = []
        # Scratch for `places`: where a page stands in another walk; -1 everywhere between calls.
        self._position = np.full(page_count, -1, dtype=np.int64)
        self.checked_layers: set[tuple[int, ...]] = set()
        # Page arrays that were found good, by id; kept alive, so that an id cannot become another array's.
        self.checked_pages: dict[int, PageIds] = {}

    def __repr__(self) -> str:
        written = int((self.landed != UNWRITTEN).sum())
        behind = int((self.landed != self.wanted).sum())
        return (
            f"VirtualBuffer({self.name}, {self.space}, {self.layer_count}x{self.page_count} pages of "
            f"{self.page_bytes} B, written={written}, behind={behind}, open={len(self.open_ns)}, "
            f"landings={len(self.landings)})"
        )

    def check_layers(self, layers: tuple[int, ...]) -> None:
        """Assert that the layers are this buffer's, once for every tuple of layers."""
        assert layers, f"{self.name}: an access to no layer"
        assert min(layers) >= 0, f"{self.name} has no layer {min(layers)}: undeclared access"
        assert max(layers) < self.layer_count, f"{self.name} has no layer {max(layers)}: undeclared access"
        self.checked_layers.add(layers)

    def check_pages(self, pages: PageIds) -> None:
        """Assert that the pages lie in this buffer. One array is looked at once: it must not change later."""
        assert pages.dtype == np.int64, f"{self.name}: page ids are {pages.dtype}, not int64"
        assert pages.ndim == 1, f"{self.name}: page ids have {pages.ndim} dimensions"
        if len(pages):
            low, high = int(pages.min()), int(pages.max())
            assert low >= 0, f"{self.name} has no page {low}: undeclared access"
            assert high < self.page_count, f"{self.name} has no page {high}: undeclared access"
        if len(self.checked_pages) >= _CHECKED_MAX:
            self.checked_pages.clear()
        self.checked_pages[id(pages)] = pages

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


def gather(versions: Versions, region: Region) -> Versions:
    """A copy of the region's versions out of a buffer's array, flat over [layer, page] in walking order."""
    layers = region.layers
    if len(layers) == 1:
        # One layer at a time is how caches are loaded and read, and plain indexing of a row is twice as fast.
        row: Versions = versions[layers[0]][region.pages]
        return row
    picked: Versions = versions[np.asarray(layers, dtype=np.intp)[:, np.newaxis], region.pages]
    return picked.ravel()


def scatter(versions: Versions, region: Region, new: Versions) -> None:
    """Write `new`, flat over [layer, page] in walking order, to the region of a buffer's array."""
    layers = region.layers
    if len(layers) == 1:
        versions[layers[0]][region.pages] = new
    else:
        shape = (len(layers), len(region.pages))
        versions[np.asarray(layers, dtype=np.intp)[:, np.newaxis], region.pages] = new.reshape(shape)


def still_visible(landings: list[Landing], since_ns: int) -> list[Landing]:
    """The landings, in their order, that matter to someone who looks at a moment after `since_ns`."""
    return [landing for landing in landings if landing.settled_ns is None or landing.settled_ns > since_ns]
