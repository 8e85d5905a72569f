"""Copies over the bus: contiguous, by gathered pages, and the host's cost of asking for one.

Owns: the cases of `run.py bench transfers --backend cuda`. Does not own: the copying kernel. Floor 6.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.bench.clock import host_now_ns
from harness.bench.figures import Figure, Spread
from harness.bench.timing import by_events, by_graph
from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.pages import Pool, copy_pages
from kernels.arrays.layout import PoolShape

_HOST_BYTES = 1 << 30
_GATHER_BYTES = 256 << 20
_TO_DEVICE, _TO_HOST = 1, 2


def measure_transfers(seed: int, figures: list[Figure]) -> None:
    """Effect: appends to `figures` as it goes. Raises: EnvironmentProblem without a device."""
    import cupyx

    kernels = Kernels()
    rng = np.random.default_rng(seed)
    host = cupyx.empty_pinned(_HOST_BYTES, np.uint8)
    host.view(np.uint64)[:] = rng.integers(0, 1 << 63, _HOST_BYTES // 8, np.uint64)
    _contiguous(host, figures)
    for page_bytes in (8_448, 16_384, 37_440):
        for block_count in (2, 4, 8, 16, 32, 64, None):
            _gather(kernels, host, page_bytes, block_count, rng, figures)
        _page_by_page(host, page_bytes, figures)


def _contiguous(host: Any, figures: list[Figure]) -> None:
    import cupy

    device = cupy.empty(_HOST_BYTES, cupy.uint8)
    for byte_count in (64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30):
        for name, kind in (("to the device", _TO_DEVICE), ("to the host", _TO_HOST)):
            ends = (device.data.ptr, host.ctypes.data)
            target, source = ends if kind == _TO_DEVICE else ends[::-1]
            spread = by_graph([partial(copy_bytes, target, source, byte_count, kind)])
            rate = byte_count / spread.median_us / 1e3
            figures.append(Figure(f"copy of {byte_count:,} B {name}", "cudaMemcpyAsync", spread, None, rate, "GB/s"))


def copy_bytes(target: int, source: int, byte_count: int, kind: int) -> None:
    """One asynchronous copy between two addresses, on the current stream. kind: as in cudaMemcpyKind."""
    import cupy

    cupy.cuda.runtime.memcpyAsync(target, source, byte_count, kind, cupy.cuda.get_current_stream().ptr)


def _gather(
    kernels: Kernels, host: Any, page_bytes: int, blocks: int | None, rng: np.random.Generator, figures: list[Figure]
) -> None:
    import cupy

    pool_pages, count = _HOST_BYTES // page_bytes, _GATHER_BYTES // page_bytes
    device = cupy.empty(_HOST_BYTES, cupy.uint8)
    shape = PoolShape(layer_count=1, page_count=pool_pages, page_rows=1, row_bytes=page_bytes)
    source, target = (Pool(address, "layer_first", shape) for address in (host.ctypes.data, device.data.ptr))
    launches = []
    for _ in range(2):
        pages = [cupy.asarray(rng.permutation(pool_pages)[:count].astype(np.int64)) for _ in range(2)]
        launches.append(partial(copy_pages, kernels, source, pages[0], target, pages[1], block_count=blocks))
    spread = by_graph(launches, repeats=8)
    who = f"{blocks} blocks" if blocks else "all blocks"
    rate = count * page_bytes / spread.median_us / 1e3
    figures.append(Figure(f"gather of {page_bytes:,} B pages to the device", who, spread, None, rate, "GB/s"))


def _page_by_page(host: Any, page_bytes: int, figures: list[Figure]) -> None:
    """One asynchronous copy a page, as the `direct` path makes them; and what the host pays for asking."""
    import cupy

    count = 512
    device = cupy.empty(count * page_bytes, cupy.uint8)
    launches = [
        partial(
            copy_bytes, device.data.ptr + i * page_bytes, host.ctypes.data + 2 * i * page_bytes, page_bytes, _TO_DEVICE
        )
        for i in range(count)
    ]
    stream = cupy.cuda.Stream(non_blocking=True)
    spread = by_events(launches, repeats=5, stream=stream)
    name = f"copies of {page_bytes:,} B, one a page"
    figures.append(Figure(name, "cudaMemcpyAsync", spread, None, page_bytes / spread.median_us / 1e3, "GB/s"))
    with stream:
        times = []
        for _ in range(5):
            begin = host_now_ns()
            for launch in launches:
                launch()
            times.append((host_now_ns() - begin) / count / 1000)
            stream.synchronize()
    figures.append(Figure(f"asking for one copy of {page_bytes:,} B", "host", Spread.of(times)))
