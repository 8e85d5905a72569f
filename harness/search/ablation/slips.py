"""The slip: which pages of a pool are read before they arrive, the same ones whichever pool slips.

Owns: the choice of pages and layers, and the view that a read of them has. Does not own: slips by time (`early`), what
a read makes of it (`outputs`). Floor 5.

Which pages are stale is an input of the experiment, drawn from a seeded generator; what comes of it is not. One draw
per case serves every pool, every share (a larger share only adds pages) and every redundancy. Two variants:

    random    the loaded pages in random order, as many as the share says
    answer    the pages of every copy of the answer, and the last loaded page, come first: the worst case

"The same slip" for the window pool: of a loaded history only the last page's window comes back from the host tier, so
its one page is stale exactly where the last loaded page is among the stale ones of the other pools.
Layers: each pool's own ones, counted from the last, because a load that falls behind stays behind: share x 21 layers of
index-K and c4, 20 of c128, 43 of the window (of which the two that have nothing but a window say nothing in the model).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.search.ablation.cases import Case
from kernels.engine.pages_read import Seen
from kernels.hicache.geometry import WINDOW_POOLS, Geometry, PoolKind
from kernels.substrate.contract import PageView, Region, Versions

Variant = Literal["random", "answer"]
VARIANTS: tuple[Variant, ...] = ("random", "answer")

Pages = NDArray[np.int64]
"""Places among the loaded pages."""


@dataclass(frozen=True, slots=True)
class StaleLayers:
    """How many layers of a pool are stale: all of them, and those that select and those that average among them."""

    all: int
    indexed: int
    summary: int


def stale_pages(case: Case, variant: Variant, share: float, seed: int) -> Pages:
    """Args: share: of the loaded pages; at least the forced ones where any page is stale. Returns: [k], ascending."""
    count = len(case.loaded)
    forced = _answer_pages(case) if variant == "answer" and share > 0 else np.zeros(0, dtype=np.int64)
    drawn = case.stream(seed).permutation(count).astype(np.int64)
    order = np.concatenate((forced, drawn[~np.isin(drawn, forced)]))
    return np.sort(order[: max(len(forced), round(share * count))])


def view_of_pages(case: Case, pool: PoolKind, pages: Pages) -> Seen | None:
    """What a read has seen that found these pages as their previous owners left them; None where nothing is stale."""
    count = len(case.loaded)
    if pool in WINDOW_POOLS:
        return seen_by(case, pool, _view(np.array([count]), np.array([0]), count)) if count - 1 in pages else None
    return seen_by(case, pool, _view(np.arange(1, count + 1), pages, count)) if len(pages) else None


def seen_by(case: Case, pool: PoolKind, view: PageView) -> Seen:
    """A read of a pool's loaded pages, in its place in the context."""
    first_page = case.loaded.stop - 1 if pool in WINDOW_POOLS else case.loaded.start
    return Seen(view, slice(0, view.wanted.shape[1]), first_page)


def stale_layers(geometry: Geometry, pool: PoolKind, share: float) -> StaleLayers:
    """The last layers of those that have the pool."""
    layers = geometry.layers_with(pool)
    return count_layers(geometry, layers[len(layers) - round(share * len(layers)) :])


def count_layers(geometry: Geometry, layers: tuple[int, ...]) -> StaleLayers:
    """Args: layers: absolute ids."""
    kinds = [geometry.layer_kinds[layer] for layer in layers]
    return StaleLayers(len(layers), kinds.count("c4"), kinds.count("c128"))


def _answer_pages(case: Case) -> Pages:
    pages = {page for first, last in case.answers for page in range(first, last + 1)}
    return np.array(sorted(pages | {len(case.loaded) - 1}), dtype=np.int64)


def _view(wanted: Versions, stale: Pages, count: int) -> PageView:
    """The previous owner's version of page v is v + count, in the case's ledger."""
    held = wanted.astype(np.int64)
    held[stale] += count
    shape = (1, len(wanted))
    whole, late_ns = np.ones(shape, dtype=np.float32), np.full(shape, -1, dtype=np.int64)
    region = Region(_Pages(page_count=count), (0,), np.arange(len(wanted)))
    expected = wanted.astype(np.int64).reshape(shape)
    return PageView(region, expected, held.reshape(shape), held.reshape(shape), whole, late_ns)


@dataclass(slots=True)
class _Pages:
    """Stands for a pool in a view that no machine has made."""

    page_count: int
    name: str = "loaded pages"
    space: str = "device:0"
    layer_count: int = 1
    page_bytes: int = 1
