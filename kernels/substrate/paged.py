"""Paged memory as the host sees it: which version every page is promised to hold, and which accesses are legal.

Owns: the ledger of host issue order, the checks of declared accesses, gather and scatter over regions. Does not own:
the bytes (each substrate has its own). Floor 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernels.substrate.contract import UNWRITTEN, PageIds, Region, Versions

if TYPE_CHECKING:
    from kernels.substrate.sites import CallSites

_CHECKED_MAX = 256


class PagedBuffer:
    """A paged pool's name, shape and ledger."""

    def __init__(self, name: str, *, space: str, layer_count: int, page_count: int, page_bytes: int) -> None:
        assert layer_count > 0, f"buffer {name} has {layer_count} layers"
        assert page_count > 0, f"buffer {name} has {page_count} pages"
        assert page_bytes > 0, f"buffer {name} has pages of {page_bytes} bytes"
        self.name = name
        self.space = space
        self.layer_count = layer_count
        self.page_count = page_count
        self.page_bytes = page_bytes
        self.call_sites: CallSites | None = None
        self.wanted: Versions = np.full((layer_count, page_count), UNWRITTEN, dtype=np.int64)
        self._checked_layers: set[tuple[int, ...]] = set()
        # Page arrays that were found good, by id; kept alive, so that an id cannot become another array's.
        self._checked_pages: dict[int, PageIds] = {}

    def check(self, region: Region) -> None:
        """Assert that the region lies in this buffer, once for every tuple of layers and every array of pages."""
        if region.layers not in self._checked_layers:
            self._check_layers(region.layers)
        if id(region.pages) not in self._checked_pages:
            self._check_pages(region.pages)

    def _check_layers(self, layers: tuple[int, ...]) -> None:
        assert layers, f"{self.name}: an access to no layer"
        assert min(layers) >= 0, f"{self.name} has no layer {min(layers)}: undeclared access"
        assert max(layers) < self.layer_count, f"{self.name} has no layer {max(layers)}: undeclared access"
        self._checked_layers.add(layers)

    def _check_pages(self, pages: PageIds) -> None:
        """One array is looked at once: it must not change later."""
        assert pages.dtype == np.int64, f"{self.name}: page ids are {pages.dtype}, not int64"
        assert pages.ndim == 1, f"{self.name}: page ids have {pages.ndim} dimensions"
        if len(pages):
            low, high = int(pages.min()), int(pages.max())
            assert low >= 0, f"{self.name} has no page {low}: undeclared access"
            assert high < self.page_count, f"{self.name} has no page {high}: undeclared access"
        if len(self._checked_pages) >= _CHECKED_MAX:
            self._checked_pages.clear()
        self._checked_pages[id(pages)] = pages


def check_copy(
    held: PagedBuffer, source: Region, there: PagedBuffer, target: Region, *, label: str, stream: str, space: str
) -> None:
    """Assert that a copy's two sides fit each other, and that one of them is where the stream is."""
    assert len(source.layers) == len(target.layers), f"{label}: {len(source.layers)} layers to {len(target.layers)}"
    assert len(source.pages) == len(target.pages), f"{label}: {len(source.pages)} pages to {len(target.pages)}"
    assert held.page_bytes == there.page_bytes, f"{label}: {held.page_bytes} B pages to {there.page_bytes} B"
    assert space in (held.space, there.space), f"{label}: {stream} is on {space}"


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


def flat_versions(region: Region, versions: Versions) -> Versions:
    """The versions of a `Write`, one a page, flat over [layer, page] in walking order."""
    count = len(region.layers) * len(region.pages)
    if versions.size != count:
        assert versions.shape == (len(region.pages),), f"{versions.shape} versions for {len(region.pages)} pages"
        return np.tile(versions, len(region.layers))
    return versions.ravel()
