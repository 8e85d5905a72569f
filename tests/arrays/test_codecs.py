"""bf16 and fp8 round trips against arithmetic in float64 that does not use the codecs' library."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from kernels.arrays.bfloat16 import decode_bf16, encode_bf16
from kernels.arrays.errors import NonFiniteError
from kernels.arrays.float8 import BLOCK, FP8_MAX, decode_fp8, encode_fp8

Floats = NDArray[np.float32]
FINITE = st.floats(width=32, allow_nan=False, allow_infinity=False)
BF16_LARGEST = 2.0**127 * (2 - 2.0**-7)


def nearest(value: float, mantissa_bits: int, smallest_exponent: int) -> float:
    """Round to nearest even in a binary format, in float64 (which holds every case exactly)."""
    if value == 0:
        return value
    exponent = max(math.frexp(value)[1] - 1, smallest_exponent)
    unit = 2.0 ** (exponent - mantissa_bits)
    return round(value / unit) * unit


@given(hnp.arrays(np.float32, st.integers(1, 40), elements=FINITE))
def test_bf16_rounds_every_finite_value_to_nearest_even(values: Floats) -> None:
    back = decode_bf16(encode_bf16(values))
    for before, after in zip(values, back, strict=True):
        expected = nearest(float(before), 7, -126)
        if abs(expected) > BF16_LARGEST:
            expected = math.copysign(math.inf, expected)
        assert float(after) == expected


def test_bf16_keeps_nan_infinity_and_signed_zero() -> None:
    back = decode_bf16(encode_bf16(np.array([np.nan, np.inf, -np.inf, -0.0], dtype=np.float32)))
    assert np.isnan(back[0])
    assert back[1:].tolist() == [np.inf, -np.inf, 0.0]
    assert np.signbit(back[3])


def test_bf16_bytes_are_little_endian_upper_halves() -> None:
    assert encode_bf16(np.array([1.0, -1.0], dtype=np.float32)).tolist() == [0x80, 0x3F, 0x80, 0xBF]


@given(hnp.arrays(np.float32, BLOCK, elements=FINITE))
def test_fp8_rounds_every_value_by_its_blocks_scale(values: Floats) -> None:
    codes, scales = encode_fp8(values)
    scale = float(scales[0])
    largest = float(np.abs(values).max())
    assert math.frexp(scale)[0] == 0.5, "a scale is a power of two"
    assert largest / scale <= float(FP8_MAX) * (1 + 2.0**-22) or scale == 2.0**119
    assert largest / scale > float(FP8_MAX) / 2 * (1 - 2.0**-22) or scale == 2.0**-126
    back = decode_fp8(codes, scales)
    for before, after in zip(values, back, strict=True):
        scaled = min(max(float(before) / scale, -448.0), 448.0)
        assert float(after) == float(np.float32(nearest(scaled, 3, -6) * scale))


@given(hnp.arrays(np.float32, (2, 2 * BLOCK), elements=st.floats(-(2.0**100), 2.0**100, width=32)))
def test_fp8_never_makes_a_nan_and_blocks_do_not_touch_each_other(values: Floats) -> None:
    codes, scales = encode_fp8(values)
    assert scales.shape == (2, 2)
    assert np.isfinite(decode_fp8(codes, scales)).all()
    alone_codes, alone_scales = encode_fp8(values[1:, BLOCK:])
    assert np.array_equal(codes[1:, BLOCK:], alone_codes)
    assert scales[1, 1] == alone_scales[0, 0]


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_fp8_refuses_what_would_poison_a_block(poison: float) -> None:
    values = np.ones((2, BLOCK), dtype=np.float32)
    values[1, 7] = poison
    with pytest.raises(NonFiniteError, match="1 of 256 values") as caught:
        encode_fp8(values)
    assert caught.value.count == 1


@pytest.mark.parametrize("value", [np.finfo(np.float32).max, -np.finfo(np.float32).max, 3.2e38])
def test_fp8_saturates_beyond_its_largest_value(value: float) -> None:
    codes, scales = encode_fp8(np.full(BLOCK, value, dtype=np.float32))
    assert set(decode_fp8(codes, scales).tolist()) == {float(np.copysign(448 * 2.0**119, value))}


def test_fp8_zeros_subnormals_and_unwritten_bytes_read_back_finite() -> None:
    zeros = np.zeros(BLOCK, dtype=np.float32)
    assert not decode_fp8(*encode_fp8(zeros)).any()
    tiny = np.full(BLOCK, 1e-45, dtype=np.float32)
    assert np.isfinite(decode_fp8(*encode_fp8(tiny))).all()
    unwritten = decode_fp8(np.zeros(BLOCK, dtype=np.uint8), np.zeros(1, dtype=np.float32))
    assert not unwritten.any()


def test_no_values_are_no_bytes() -> None:
    codes, scales = encode_fp8(np.zeros((0, BLOCK), dtype=np.float32))
    assert (codes.shape, scales.shape) == ((0, BLOCK), (0, 1))
    assert encode_bf16(np.zeros((0, 4), dtype=np.float32)).shape == (0, 8)


def test_signs_survive_both_formats_exactly() -> None:
    signs = np.random.default_rng(1).choice([-1, 1], (3, BLOCK)).astype(np.float32)
    assert np.array_equal(decode_bf16(encode_bf16(signs)), signs)
    assert np.array_equal(decode_fp8(*encode_fp8(signs)), signs)
