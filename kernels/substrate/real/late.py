"""How late the bytes came that a stale read wanted.

Owns: when which version has landed, as far as the host has heard, and completing `late_ns` of views that wait for one.
Does not own: what counts as stale (`PageView`). Floor 1.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import PageView, Region, Versions
from kernels.substrate.paged import PagedBuffer, gather, scatter
from kernels.substrate.real.work import Access

_WATCHES_MAX = 256
"""A view whose bytes were overtaken by a later write waits for ever; the oldest are given up."""


@dataclass(frozen=True, slots=True, eq=False)
class _Watch:
    view: PageView
    read_ns: int


@dataclass(slots=True, eq=False)
class _Heard:
    """Of one buffer: the version that landed last in each page, and when."""

    versions: Versions
    landed_ns: NDArray[np.int64]
    watches: deque[_Watch] = field(default_factory=lambda: deque(maxlen=_WATCHES_MAX))


class LateWatches:
    """All views of one machine that saw something stale."""

    def __init__(self) -> None:
        self._by_buffer: dict[str, _Heard] = {}

    def __repr__(self) -> str:
        return f"LateWatches({sum(len(heard.watches) for heard in self._by_buffer.values())} open)"

    def watch(self, view: PageView, read_ns: int) -> None:
        """Effect: `view.late_ns` is filled in when the wanted versions land, or now if they have."""
        heard = self._of(view.region)
        watch = _Watch(view, read_ns)
        if not _complete(watch, heard):
            heard.watches.append(watch)

    def landed(self, written: Access, end_ns: int) -> None:
        """A copy or kernel has written these versions."""
        heard, region = self._of(written.region), written.region
        scatter(heard.versions, region, written.versions)
        scatter(heard.landed_ns, region, np.full(len(written.versions), end_ns))
        if heard.watches:
            still = [watch for watch in heard.watches if not _complete(watch, heard)]
            heard.watches = deque(still, maxlen=_WATCHES_MAX)

    def _of(self, region: Region) -> _Heard:
        buffer = region.buffer
        assert isinstance(buffer, PagedBuffer), buffer
        heard = self._by_buffer.get(buffer.name)
        if heard is None:
            heard = _Heard(np.zeros_like(buffer.wanted), np.zeros_like(buffer.wanted))
            self._by_buffer[buffer.name] = heard
        return heard


def _complete(watch: _Watch, heard: _Heard) -> bool:
    """Fill in what has landed. Returns: whether nothing is left to wait for."""
    view = watch.view
    shape = view.wanted.shape
    has_come = gather(heard.versions, view.region).reshape(shape) == view.wanted
    is_answer = has_come & (view.late_ns < 0)
    landed_ns = gather(heard.landed_ns, view.region).reshape(shape)
    view.late_ns[is_answer] = np.maximum(1, landed_ns - watch.read_ns)[is_answer]
    return not (view.late_ns < 0).any()
