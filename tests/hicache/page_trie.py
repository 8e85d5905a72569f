"""A reference for the radix tree: one dictionary entry per page, no nodes, no splits.

Owns: what a tree of pages must answer. Does not own: recency, leaf sets. Chained keys name a page and its whole
prefix, so a flat dictionary is enough; that is what makes it independent of the code under test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def chained(digits: Sequence[int]) -> tuple[int, ...]:
    """Keys of a path: each names its digit and all digits before it."""
    keys: list[int] = []
    key = 1
    for digit in digits:
        key = key * 4 + digit
        keys.append(key)
    return tuple(keys)


@dataclass
class Page:
    device: int | None = None
    host: int | None = None
    device_window: bool = False
    host_window: bool = False
    locks: int = 0


@dataclass(frozen=True)
class Found:
    length: int
    device_pages: list[int]
    needs_window: bool


class PageTrie:
    def __init__(self) -> None:
        self.pages: dict[int, Page] = {}

    def match(self, keys: Sequence[int], *, device_only: bool = False) -> Found:
        known: list[Page] = []
        for key in keys:
            page = self.pages.get(key)
            if page is None or (device_only and page.device is None):
                break
            known.append(page)

        def may_end(page: Page) -> bool:
            return (page.device is not None and page.device_window) or (not device_only and page.host_window)

        while known and not may_end(known[-1]):
            known.pop()
        device = [page.device for page in known if page.device is not None]
        needs_window = bool(known) and not (known[-1].device is not None and known[-1].device_window)
        return Found(len(known), device, needs_window)

    def insert(self, keys: Sequence[int], offered: Sequence[int], owned_from: int) -> tuple[list[int], list[int]]:
        """Returns the tree's pages of the inserted prefix, and the pages that were freed."""
        kept: list[int] = []
        freed: list[int] = []
        for index, (key, mine) in enumerate(zip(keys, offered, strict=True)):
            page = self.pages.setdefault(key, Page())
            if page.device is None:
                page.device, page.device_window = mine, True
            elif index < owned_from:
                assert page.device == mine
            elif page.device_window or (page.locks > 0 and index < len(keys) - 1):
                freed.append(mine)
            elif page.locks > 0:
                break
            else:
                freed.append(page.device)
                page.device, page.device_window = mine, True
            kept.append(page.device)
        return kept, freed

    def lock(self, keys: Sequence[int], amount: int) -> None:
        for key in keys:
            self.pages[key].locks += amount

    def evict(self, keys: Sequence[int]) -> None:
        """Take device pages away; a page that is in no tier then goes, and everything below it."""
        for key in reversed(keys):
            page = self.pages[key]
            page.device, page.device_window = None, False
            if page.host is None:
                for other in [other for other in self.pages if _is_below(other, key)]:
                    del self.pages[other]


def _is_below(key: int, ancestor: int) -> bool:
    while key > ancestor:
        key //= 4
    return key == ancestor
