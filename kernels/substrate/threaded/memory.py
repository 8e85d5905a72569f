"""Bytes of the threaded substrate: a few words stand for each page.

Owns: the arrays, and reading and writing versions in them. Does not own: when. Floor 1.

A page of 16 KB is `WORDS` words of 8 bytes here, each of which holds the page's version: enough to be torn at 15
places, and small enough that every pool of the incident fits into a laptop. Time is the modelled machine's, not that
of copying so few bytes (`lane.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernels.substrate.contract import Region, Versions
from kernels.substrate.real.work import Sight

WORDS = 16

Words = NDArray[np.int64]


class PageWords:
    """One buffer's pages, [layer, page, word]."""

    def __init__(self, layer_count: int, page_count: int) -> None:
        # Zeros that nobody writes to take no memory.
        self.words: Words = np.zeros((layer_count, page_count, WORDS), dtype=np.int64)

    def sight(self, region: Region) -> Sight:
        """What is there while others may be writing: each page is looked at once."""
        seen = np.concatenate([self.words[layer][region.pages] for layer in region.layers])
        return sight_of(seen)

    def write(self, region: Region, versions: Versions) -> None:
        layers = np.asarray(region.layers, dtype=np.intp)[:, np.newaxis]
        self.words[layers, region.pages] = versions.reshape(len(region.layers), len(region.pages), 1)


def sight_of(seen: Words) -> Sight:
    """Head, tail and tear of pages [n, word].

    A page in which three writers meet has more than one tear; the first one counts.
    """
    head, tail = seen[:, 0].copy(), seen[:, -1].copy()
    differs = seen != head[:, np.newaxis]
    is_torn = differs.any(axis=1)
    tear = np.where(is_torn, differs.argmax(axis=1) / seen.shape[1], 1.0).astype(np.float32)
    return Sight(head, tail, tear)
