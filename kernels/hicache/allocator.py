"""The page allocator: which free page is handed out next.

Owns: the free list of one tier. Does not own: who uses a page, or what is in it. Floor 2a.
Source: SGLang PagedTokenToKVPoolAllocator (device) and HostKVCache (host): order of reuse, in our own code. Page ids
here start at 0; SGLang keeps page 0 as a dump for padded tokens and starts at 1.

The order of reuse decides what a page that is read too early still holds, so it is part of the incident:
    lifo    freed pages go in front: the next load lands on what was evicted last (SGLang's unified server)
    sorted  freed pages wait aside until the list runs short, then all are merged and sorted: SGLang's choice
            (`need_sort`) where it runs as a prefill or decode worker, so that transfers find long runs
    fifo    freed pages go to the end (SGLang's host pools)
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import PageIds

Reuse = Literal["lifo", "sorted", "fifo"]


class PageAllocator:
    """A free list of `capacity_pages` pages; all pages are free at first, in ascending order."""

    def __init__(self, capacity_pages: int, reuse: Reuse) -> None:
        assert capacity_pages > 0, capacity_pages
        self.capacity_pages = capacity_pages
        self.reuse: Reuse = reuse
        self._free = np.arange(capacity_pages, dtype=np.int64)
        self._waiting: PageIds = np.empty(0, dtype=np.int64)
        self._is_free: NDArray[np.bool_] = np.ones(capacity_pages, dtype=np.bool_)

    @property
    def free_pages(self) -> int:
        return len(self._free) + len(self._waiting)

    @property
    def free_list(self) -> PageIds:
        """A copy of the free pages: those handed out next come first, then those that wait to be merged."""
        return np.concatenate((self._free, self._waiting))

    def alloc(self, count: int) -> PageIds | None:
        """Take `count` pages from the front of the free list, or None (and change nothing) where there are fewer.

        Returns: [count] int64 page ids, owned by the caller until it frees them.
        """
        assert count >= 0, count
        if count > self.free_pages:
            return None
        if count > len(self._free):
            self._free = np.sort(np.concatenate((self._free, self._waiting)))
            self._waiting = np.empty(0, dtype=np.int64)
        pages, self._free = self._free[:count].copy(), self._free[count:]
        self._is_free[pages] = False
        return pages

    def free(self, pages: PageIds) -> None:
        """Give pages back, in one step: they are put in ascending order, as SGLang's `torch.unique` does."""
        if len(pages) == 0:
            return
        freed = np.unique(pages)
        assert len(freed) == len(pages), f"a page is freed twice in one call: {pages.tolist()}"
        foreign = freed[(freed < 0) | (freed >= self.capacity_pages)]
        assert len(foreign) == 0, f"foreign pages {foreign.tolist()}, not in [0, {self.capacity_pages})"
        twice = freed[self._is_free[freed]]
        assert len(twice) == 0, f"double free of pages {twice.tolist()} ({self.free_pages} are free)"
        self._is_free[freed] = True
        match self.reuse:
            case "lifo":
                self._free = np.concatenate((freed, self._free))
            case "fifo":
                self._free = np.concatenate((self._free, freed))
            case "sorted":
                self._waiting = np.concatenate((freed, self._waiting))

    def reset(self) -> None:
        """Forget all owners: every page is free again, in ascending order."""
        self._free = np.arange(self.capacity_pages, dtype=np.int64)
        self._waiting = np.empty(0, dtype=np.int64)
        self._is_free[:] = True

    def __repr__(self) -> str:
        return f"PageAllocator({self.reuse}, {self.free_pages} of {self.capacity_pages} pages free)"
