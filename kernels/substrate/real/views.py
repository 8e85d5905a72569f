"""From what a stream saw to what a kernel's body gets.

Owns: the `PageView` of one read. Does not own: when its late bytes come (`late.py`). Floor 1.
"""

from __future__ import annotations

import numpy as np

from kernels.substrate.contract import PageView
from kernels.substrate.real.work import Access, Sight


def page_view(read: Access, sight: Sight) -> PageView:
    """What one read saw beside what it was promised."""
    region, wanted = read.region, read.versions
    shape = (len(region.layers), len(region.pages))
    is_stale = (sight.head != wanted) | (sight.tail != wanted)
    late_ns = np.where(is_stale, np.int64(-1), np.int64(0))
    return PageView(
        region,
        wanted.reshape(shape),
        sight.head.reshape(shape),
        sight.tail.reshape(shape),
        sight.tear.reshape(shape),
        late_ns.reshape(shape),
    )
