"""Small arrays that travel with a job: page ids and versions to the device, what a reader saw back to the host.

Owns: two rings of a lane (pinned memory, and its image on the device) and when a place in them is free again. Does not
own: what travels. Floor 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

_RING_WORDS = 1 << 23


class Staging:
    """A ring of 8-byte words, in pinned memory and on the device. Places are given in order and freed in order."""

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        self._pinned = cupy.cuda.PinnedMemory(_RING_WORDS * 8, 0x03)
        self._device = cupy.cuda.MemoryPointer(cupy.cuda.Memory(_RING_WORDS * 8), 0)
        self.words: Ints = np.asarray(_Exposed(self._pinned.ptr, _RING_WORDS * 8)).view(np.int64)
        self._next = 0
        self._free = _RING_WORDS
        self._taken: deque[int] = deque()

    def send(self, arrays: Sequence[Ints], stream: Any) -> list[Any]:
        """Copy arrays to the device, in one transfer on `stream`. Returns: the device's arrays."""
        count = sum(array.size for array in arrays)
        begin = self.take(count)
        at = begin
        for array in arrays:
            self.words[at : at + array.size] = array.ravel()
            at += array.size
        source = self._pinned.ptr + begin * 8
        target = self._device + begin * 8
        if count:
            self._cupy.cuda.runtime.memcpyAsync(target.ptr, source, count * 8, 1, stream.ptr)
        sent, at = [], begin
        for array in arrays:
            sent.append(self._cupy.ndarray(array.shape, np.int64, self._device + at * 8))
            at += array.size
        return sent

    def take(self, count: int) -> int:
        """A place for `count` words. Returns: where it begins. Every place counts as one for `free_oldest`."""
        skipped = 0
        if self._next + count > _RING_WORDS:
            skipped = _RING_WORDS - self._next
            self._next = 0
        assert count + skipped <= self._free, (
            f"{count} words of staging wanted, {self._free} free: a stream is far behind"
        )
        self._free -= count + skipped
        self._taken.append(count + skipped)
        begin, self._next = self._next, self._next + count
        return begin

    def pinned_address(self, begin: int) -> int:
        """Where the device writes what the host reads in `words` from `begin` on."""
        return int(self._pinned.ptr) + begin * 8

    def __len__(self) -> int:
        """How many places are taken."""
        return len(self._taken)

    def free_oldest(self) -> None:
        self._free += self._taken.popleft()


class _Exposed:
    """Memory at an address, for NumPy to look at."""

    def __init__(self, address: int, size_bytes: int) -> None:
        self.__array_interface__ = {"data": (address, False), "shape": (size_bytes,), "typestr": "|u1", "version": 3}
