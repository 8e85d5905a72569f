"""Identity: whether a read saw the pages that its reader means, whatever order says.

Owns: the kernel body that checks it, and the sentence. Does not own: order (detector), staleness (what host issue order
promises, per read). Floor 2b. Source: facts/bugs.md class 9 (a load that restores one pool and forgets its companion).

Host issue order promises a page's last content, and that may be the wrong one: where a load forgets a pool, nothing was
written there, so nothing is unordered and nothing is late, and the page still holds what its last owner left. Only who
reads knows which version it means. A program says so by the body that it launches its kernel with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernels.substrate.contract import KernelBody, PageView

ORDERED_YET_STALE = "ordered, yet stale"


def expects(version: int) -> KernelBody:
    """A body that fails where a page, read in order, holds another version than the reader means.

    A read that was too early is left to the version tags: that is a race, and another verdict.
    """

    def body(views: Sequence[PageView]) -> None:
        for view in views:
            other = (view.head != version) & ~view.stale
            if other.any():
                layer, page = (int(index[0]) for index in np.nonzero(other))
                raise AssertionError(
                    f"{ORDERED_YET_STALE}: pool {view.region.buffer.name} was not restored: page "
                    f"{view.region.pages[page]} holds version {view.head[layer, page]}, the reader means {version}"
                )

    return body
