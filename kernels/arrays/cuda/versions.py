"""Pages whose bytes name their version, on a CUDA device: written by one kernel, looked at by another.

Owns: the two launches. Does not own: what a version means (`substrate/contract.py`). Floor 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.arrays.cuda.loader import Kernels

WORD_BYTES = 8
_THREADS = 256


@dataclass(frozen=True, slots=True)
class PagedMemory:
    """A layer-first pool on the device: `address` of its first byte, and the strides in bytes."""

    address: int
    layer_bytes: int
    page_bytes: int


@dataclass(frozen=True, slots=True)
class Seen:
    """Where to put what a reader saw, each [layers * pages] int64: CuPy arrays, or addresses that the device reaches.

    See `page_versions.cu`. tears counts words.
    """

    heads: Any
    tails: Any
    tears: Any
    strange: Any


def write_versions(kernels: Kernels, memory: PagedMemory, layers: Any, pages: Any, versions: Any) -> None:
    """Fill pages with their versions, on the current stream.

    Args (CuPy arrays): layers: [l], pages: [n], versions: [l, n], all int64.
    """
    count = len(layers) * len(pages)
    assert versions.shape == (len(layers), len(pages)), versions.shape
    if count:
        kernel = kernels.get("page_versions.cu", "write_versions")
        kernel((count,), (_THREADS,), (*_memory(memory, layers, pages), versions))


def read_versions(kernels: Kernels, memory: PagedMemory, layers: Any, pages: Any, seen: Seen) -> None:
    """Look at every word of the pages, on the current stream.

    Effect: writes all of `seen`.
    """
    count = len(layers) * len(pages)
    if count:
        kernel = kernels.get("page_versions.cu", "read_versions")
        outputs = (seen.heads, seen.tails, seen.tears, seen.strange)
        kernel((count,), (_THREADS,), (*_memory(memory, layers, pages), *outputs))


def _memory(memory: PagedMemory, layers: Any, pages: Any) -> tuple[Any, ...]:
    assert memory.page_bytes % WORD_BYTES == 0, memory
    words = np.int32(memory.page_bytes // WORD_BYTES)
    strides = (np.uint64(memory.address), np.uint64(memory.layer_bytes), np.uint64(memory.page_bytes))
    return (*strides, layers, pages, np.int32(len(pages)), words)
