"""The two ceilings of a device: bytes through its memory, and matrix products by number format.

Owns: measuring them, with CuPy's copy and with torch's products where torch is there. Floor 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.bench.figures import Figure, Spread
from harness.bench.timing import by_graph

_COPY_BYTES = 2 << 30
_SIDE = 8192


@dataclass(frozen=True, slots=True)
class Ceilings:
    """bytes_per_s: read plus written. operations_per_s: by format; None where torch is missing."""

    bytes_per_s: float
    operations_per_s: dict[str, float | None]


def measure_ceilings(figures: list[Figure]) -> Ceilings:
    """Effect: appends what was measured to `figures`."""
    import cupy

    source = cupy.random.randint(0, 1 << 31, _COPY_BYTES // 4, dtype=cupy.int32).view(cupy.complex128)
    target = cupy.empty_like(source)
    # A kernel with 16-byte accesses: the copy engine's own device copy reached two thirds of it.
    spread = by_graph([partial(cupy.positive, source, target)])
    rate = 2 * _COPY_BYTES / spread.median_us * 1e6
    figures.append(Figure("device copy of 2 GiB", "cupy", spread, rate=rate / 1e12, rate_unit="TB/s"))
    operations: dict[str, float | None] = {"bf16": None, "fp8": None}
    for name, product in _torch_products():
        spread = torch_spread(product)
        operations[name] = 2 * _SIDE**3 / spread.median_us * 1e6
        label = f"matrix product {_SIDE} x {_SIDE} x {_SIDE}, {name}"
        figures.append(Figure(label, "torch", spread, rate=2 * _SIDE**3 / spread.median_us / 1e6, rate_unit="TFLOP/s"))
    return Ceilings(rate, operations)


def _torch_products() -> Iterator[tuple[str, Any]]:
    try:
        import torch
    except ImportError:
        return
    left, right = (torch.randn(_SIDE, _SIDE, device="cuda").bfloat16() for _ in range(2))
    yield "bf16", lambda: left @ right
    one = torch.ones((), device="cuda")
    codes = [matrix.to(torch.float8_e4m3fn) for matrix in (left, right)]
    yield (
        "fp8",
        lambda: torch._scaled_mm(codes[0], codes[1].t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16),
    )


def torch_spread(run: Any, *, each_runs: int = 1, repeats: int = 20) -> Spread:
    """Time of torch's work by its own events, on its stream; one call of `run` does it `each_runs` times."""
    import torch

    for _ in range(3):
        run()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / each_runs)
    return Spread.of(times)
