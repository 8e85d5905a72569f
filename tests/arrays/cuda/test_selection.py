"""Top-k on the device against the NumPy rule: same indices, ties included, whatever the distribution."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from kernels.arrays.cuda.loader import Kernels
from kernels.arrays.cuda.selection import sample_plan, top_k
from kernels.arrays.selection import top_k as reference

Floats = NDArray[np.float32]

SHAPES = [
    (1, 1, 1),
    (2, 5, 3),
    (3, 512, 512),
    (2, 513, 512),
    (4, 1000, 7),
    (9, 4097, 2048),
    (3, 65536, 512),
    (300, 3001, 64),
]


def falling(_rng: np.random.Generator, rows: int, length: int) -> Floats:
    return np.tile(np.arange(length, 0, -1, dtype=np.float32), (rows, 1))


KINDS: dict[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "normal": lambda rng, rows, length: rng.standard_normal((rows, length)).astype(np.float32),
    "few values": lambda rng, rows, length: rng.integers(-3, 3, (rows, length)).astype(np.float32),
    "all equal": lambda _rng, rows, length: np.full((rows, length), -0.5, np.float32),
    "signed zeros": lambda rng, rows, length: rng.choice(np.array([0.0, -0.0], np.float32), (rows, length)),
    "mostly minus infinity": lambda rng, rows, length: np.where(
        rng.random((rows, length)) < 0.01, rng.standard_normal((rows, length)), -np.inf
    ).astype(np.float32),
    "falling": falling,
    "rising": lambda rng, rows, length: falling(rng, rows, length)[:, ::-1].copy(),
    "huge and tiny": lambda rng, rows, length: np.exp(rng.uniform(-80, 80, (rows, length))).astype(np.float32),
}


@pytest.fixture(scope="module")
def kernels() -> Kernels:
    return Kernels()


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rows", "length", "k"), SHAPES)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_device_selects_what_numpy_selects(
    kernels: Kernels, kind: str, rows: int, length: int, k: int, seed: int
) -> None:
    import cupy

    scores = KINDS[kind](np.random.default_rng(seed), rows, length)
    out = cupy.full((rows, k), -77, cupy.int32)
    top_k(kernels, cupy.asarray(scores), k, out=out)
    assert np.array_equal(out.get()[:, : min(k, length)], reference(scores, k))


@pytest.mark.gpu
def test_short_rows_are_filled_with_minus_one(kernels: Kernels) -> None:
    import cupy

    scores = np.random.default_rng(3).standard_normal((4, 700)).astype(np.float32)
    lengths = np.array([0, 3, 64, 700], np.int32)
    out = cupy.full((4, 64), -77, cupy.int32)
    top_k(kernels, cupy.asarray(scores), 64, out=out, lengths=cupy.asarray(lengths))
    for row, length in enumerate(lengths):
        chosen = list(reference(scores[row : row + 1, :length], 64)[0]) if length else []
        assert list(out.get()[row]) == chosen + [-1] * (64 - len(chosen))


def test_the_bound_lets_enough_pass_nearly_always() -> None:
    """The plan's own promise, by simulation: k or more pass, and they fit, in all but a few of 10,000 rows."""
    rng = np.random.default_rng(4)
    for length, k in [(32768, 512), (65536, 512), (32768, 2048), (8192, 512)]:
        rank, capacity = sample_plan(length, k)
        # The share of scores above the rank-th best of 256 uniform samples has this Beta distribution.
        passing = rng.binomial(length, rng.beta(rank, 257 - rank, 10_000))
        assert np.mean((passing < k) | (passing > capacity)) < 0.005, (length, k)
