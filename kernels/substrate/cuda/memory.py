"""Memory of the CUDA substrate: real pages of real size, on a device or pinned on the host.

Owns: allocating and giving back, and where a page lies. Does not own: what is written there. Floor 1.

All pools are layer-first. Every 8 bytes of a page hold its version (`kernels/arrays/cuda/versions.py`). Host memory is
allocated pinned and mapped, so copies really go over the bus from where the pool is, and kernels can reach it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernels.arrays.cuda.pages import Pool
from kernels.arrays.cuda.versions import WORD_BYTES, PagedMemory
from kernels.arrays.layout import PoolShape
from kernels.errors import EnvironmentProblem
from kernels.substrate.paged import PagedBuffer

_MAPPED_PORTABLE = 0x03


@dataclass(frozen=True, slots=True, eq=False)
class PoolMemory:
    """One buffer's memory.

    page_bytes: what a page really has: the buffer's page divided by `divisor`. owner: keeps the memory alive. device:
    the real device, or None for the host.
    """

    address: int
    layer_bytes: int
    page_bytes: int
    page_count: int
    divisor: int
    device: int | None
    owner: Any

    def paged(self) -> PagedMemory:
        return PagedMemory(self.address, self.layer_bytes, self.page_bytes)

    def pool(self, first_layer: int, layer_count: int) -> Pool:
        """Some neighbouring layers as a pool of their own."""
        shape = PoolShape(layer_count, self.page_count, page_rows=1, row_bytes=self.page_bytes)
        return Pool(self.address + first_layer * self.layer_bytes, "layer_first", shape)


def allocate(buffer: PagedBuffer, device: int | None, divisor: int = 1) -> PoolMemory:
    """Memory for a buffer, all zeros on a device. `device` is current.

    Raises: EnvironmentProblem where there is too little.
    """
    import cupy

    page_bytes = buffer.page_bytes // divisor
    assert page_bytes % WORD_BYTES == 0, f"{buffer.name}: pages of {page_bytes} B hold no whole words"
    layer_bytes = buffer.page_count * page_bytes
    size_bytes = buffer.layer_count * layer_bytes
    runtime = cupy.cuda.runtime
    try:
        if device is None:
            owner: Any = cupy.cuda.PinnedMemory(size_bytes, _MAPPED_PORTABLE)
        else:
            owner = cupy.cuda.Memory(size_bytes)
    except (runtime.CUDARuntimeError, cupy.cuda.memory.OutOfMemoryError) as error:
        raise _too_little(buffer, size_bytes, device) from error
    if device is not None:
        stream = cupy.cuda.Stream(non_blocking=True)
        runtime.memsetAsync(owner.ptr, 0, size_bytes, stream.ptr)
        stream.synchronize()
    return PoolMemory(owner.ptr, layer_bytes, page_bytes, buffer.page_count, divisor, device, owner)


def _too_little(buffer: PagedBuffer, size_bytes: int, device: int | None) -> EnvironmentProblem:
    import cupy

    where = "pinned host memory"
    if device is not None:
        free_bytes, total_bytes = cupy.cuda.runtime.memGetInfo()
        where = f"device {device}, where {free_bytes / 1e9:.1f} of {total_bytes / 1e9:.1f} GB are free"
    return EnvironmentProblem(
        f"{buffer.name} needs {size_bytes / 1e9:.1f} GB of {where}",
        remedy="give the cache fewer tokens: --set cache.device_tokens=N, cache.host_tokens=N or cache.decode_tokens=N",
    )
