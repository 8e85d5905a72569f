"""Page views for kernel bodies that run on a machine without time.

Owns: turning cells into the arrays of a `PageView`. Floor 2b.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kernels.races.scheduler.cells import Values
from kernels.races.scheduler.issue import IssuedOp
from kernels.substrate.contract import PageView, Region


def page_views(op: IssuedOp, values: Sequence[Values]) -> list[PageView]:
    """One view for each read. There is no time, so `late_ns` stays -1 on stale pages."""
    regions = [region for is_write, region in op.regions if not is_write]
    return [_view(region, wanted, seen) for region, wanted, seen in zip(regions, op.wanted, values, strict=True)]


def _view(region: Region, wanted: Values, seen: Values) -> PageView:
    shape = (len(region.layers), len(region.pages))
    promised, head, tail = (_array(part, shape) for part in (wanted, seen[::2], seen[1::2]))
    is_stale = (head != promised) | (tail != promised)
    tear = np.where(head == tail, np.float32(1.0), np.float32(0.5))
    return PageView(region, promised, head, tail, tear, np.where(is_stale, np.int64(-1), np.int64(0)))


def _array(values: Sequence[int], shape: tuple[int, int]) -> NDArray[np.int64]:
    # Unwritten pages have numbers below zero here, and are 0 for everybody else.
    return np.maximum(np.array(values, dtype=np.int64), 0).reshape(shape)
