"""Scores, selection and both together, beside torch and CuPy, with the floors that bound them.

Owns: the cases of `run.py bench kernels --backend cuda`. Does not own: the kernels (`kernels/arrays/cuda`). Floor 6.
Method: ceilings first, in the same run; inputs are random and rotated; peers get inputs of the same shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from harness.bench.ceilings import Ceilings, measure_ceilings, torch_spread
from harness.bench.figures import Figure
from harness.bench.timing import by_events, by_graph
from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.scores import DIM, HEADS, PAGE_BYTES, PAGE_ROWS, IndexK, index_scores
from kernels.arrays.cuda.selection import top_k

_SETS = 4
_QUERIES, _ENTRIES, _K = 64, 65_536, 512
_SELECTIONS = ((512, 32_768, 512), (64, 65_536, 512), (64, 65_536, 1_024), (512, 32_768, 2_048))


@dataclass(frozen=True, slots=True)
class _Inputs:
    queries: Any
    weights: Any
    pool: Any
    table: Any
    scores: Any
    chosen: Any


def measure_kernels(seed: int, figures: list[Figure]) -> None:
    """Effect: appends to `figures` as it goes, so that an interrupted run keeps what it has.

    Raises: EnvironmentProblem without a device.
    """
    kernels = Kernels()
    ceilings = measure_ceilings(figures)
    formats: tuple[IndexK, ...] = ("bf16", "fp8")
    for index_k in formats:
        _score_cases(kernels, index_k, ceilings, seed, figures)
    _torch_scores(figures)
    for rows, length, k in _SELECTIONS:
        _selection_cases(kernels, (rows, length, k), ceilings, seed, figures)


def _score_cases(kernels: Kernels, index_k: IndexK, ceilings: Ceilings, seed: int, figures: list[Figure]) -> None:
    sets = [_inputs(index_k, seed + number) for number in range(_SETS)]

    def score(inputs: _Inputs, is_portable: bool = False) -> None:
        index_scores(
            kernels,
            inputs.queries,
            inputs.weights,
            inputs.pool,
            inputs.table,
            _ENTRIES,
            index_k=index_k,
            out=inputs.scores,
            is_portable=is_portable,
        )

    def select(inputs: _Inputs) -> None:
        top_k(kernels, inputs.scores, _K, out=inputs.chosen)

    def both(inputs: _Inputs) -> None:
        score(inputs)
        select(inputs)

    rate = ceilings.operations_per_s[index_k]
    operations = 2 * _QUERIES * HEADS * DIM * _ENTRIES
    floor_us = None if rate is None else operations / rate * 1e6
    shape = f"{_QUERIES} queries x {_ENTRIES} entries, {index_k}"
    for name, who, run in (
        ("score", "wgmma", score),
        ("score", "portable", partial(score, is_portable=True)),
        (f"score + top-{_K}", "wgmma", both),
    ):
        spread = by_graph([partial(run, inputs) for inputs in sets])
        done = operations / spread.median_us / 1e6
        figures.append(Figure(f"{name}: {shape}", who, spread, floor_us, done, "TFLOP/s"))


def _inputs(index_k: IndexK, seed: int) -> _Inputs:
    import cupy

    rng = np.random.default_rng(seed)
    page_count = _ENTRIES // PAGE_ROWS
    pool_pages = page_count * 2
    if index_k == "bf16":
        queries, pool = _bf16((_QUERIES, HEADS, DIM), rng), _bf16((pool_pages, PAGE_ROWS * DIM), rng)
    else:
        queries = _fp8((_QUERIES, HEADS, DIM), rng)
        scales = cupy.asarray(np.exp2(rng.integers(-3, 3, (pool_pages, PAGE_ROWS))).astype(np.float32))
        codes = _fp8((pool_pages, PAGE_ROWS * DIM), rng)
        pool = cupy.concatenate([codes, scales.view(cupy.uint8).reshape(pool_pages, -1)], axis=1)
    assert pool.shape == (pool_pages, PAGE_BYTES[index_k]), pool.shape
    return _Inputs(
        queries=queries,
        weights=cupy.asarray(rng.random((_QUERIES, HEADS), np.float32)),
        pool=pool,
        table=cupy.asarray(rng.permutation(pool_pages)[:page_count].astype(np.int32)),
        scores=cupy.empty((_QUERIES, _ENTRIES), cupy.float32),
        chosen=cupy.empty((_QUERIES, _K), cupy.int32),
    )


def _normal(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    import cupy

    return cupy.random.default_rng(int(rng.integers(1 << 31))).standard_normal(shape, dtype=cupy.float32)


def _bf16(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Normal numbers cut to bf16, as bytes: rounding does not matter for time."""
    import cupy

    cut = (_normal(shape, rng).view(cupy.uint32) >> 16).astype(cupy.uint16)
    return cut.view(cupy.uint8).reshape(*shape[:-1], shape[-1] * 2)


def _fp8(shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Normal numbers as e4m3 codes, truncated."""
    import cupy

    values = cupy.clip(_normal(shape, rng), -400, 400)
    bits = values.view(cupy.uint32)
    exponent = ((bits >> 23) & 0xFF).astype(cupy.int32) - 120
    code = (exponent << 3) | ((bits >> 20) & 7).astype(cupy.int32)
    code = cupy.where(exponent <= 0, 0, code)
    return (code | ((bits >> 24) & 0x80).astype(cupy.int32)).astype(cupy.uint8)


def _torch_scores(figures: list[Figure]) -> None:
    try:
        import torch
    except ImportError:
        return
    queries = torch.randn(_QUERIES, HEADS, DIM, device="cuda").bfloat16()
    keys = torch.randn(_ENTRIES, DIM, device="cuda").bfloat16()
    weights = torch.rand(_QUERIES, HEADS, device="cuda")

    def score() -> Any:
        products = torch.einsum("qhd,nd->qhn", queries, keys).relu_()
        return torch.einsum("qhn,qh->qn", products.float(), weights)

    shape = f"{_QUERIES} queries x {_ENTRIES} entries, bf16"
    figures.append(Figure(f"score: {shape}", "torch einsum", torch_spread(score)))
    both = torch_spread(lambda: torch.topk(score(), _K, dim=-1, sorted=False))
    figures.append(Figure(f"score + top-{_K}: {shape}", "torch einsum + topk", both))


def _selection_cases(
    kernels: Kernels, shape: tuple[int, int, int], ceilings: Ceilings, seed: int, figures: list[Figure]
) -> None:
    import cupy

    rows, length, k = shape
    rng = np.random.default_rng(seed)
    sets = [_normal((rows, length), rng) for _ in range(_SETS)]
    chosen = cupy.empty((rows, k), cupy.int32)
    floor_us = rows * length * 4 / (ceilings.bytes_per_s) * 1e6
    name = f"top-{k} of {rows} x {length} float32"
    ours = by_graph([partial(top_k, kernels, scores, k, out=chosen) for scores in sets])
    figures.append(Figure(name, "ours", ours, floor_us))
    partitions = by_events([partial(cupy.argpartition, scores, length - k, axis=1) for scores in sets[:1]], repeats=5)
    figures.append(Figure(name, "cupy argpartition", partitions, floor_us))
    try:
        import torch
    except ImportError:
        return
    tensors = [torch.from_dlpack(scores) for scores in sets]

    def peers() -> None:
        for tensor in tensors:
            torch.topk(tensor, k, dim=-1, sorted=False)

    figures.append(Figure(name, "torch topk", torch_spread(peers, each_runs=_SETS), floor_us))
