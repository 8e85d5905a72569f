"""fp8 e4m3 with one float32 scale per 128 values, as bytes.

Owns: the number format. Floor 0. Source: ml_dtypes' float8_e4m3fn; block of 128 and power-of-two scales as
DeepSeek's index-K (`ue8m0`): a power of two scales without rounding, so only the cast loses bits.

e4m3fn has no infinity: the cast turns overflow into NaN, so values are clipped first. NaN and infinity are refused,
because one of them would set the scale of its whole block. A block of zeros gets the smallest scale; a block that
was never written (all bytes zero, scale 0) reads as zeros. The largest scale is 2^119, beyond which rounding up
could leave float32: values beyond 448 * 2^119 (2.98e38) saturate there.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kernels.arrays.errors import NonFiniteError

BLOCK = 128
FP8_MAX = np.float32(448.0)
_SCALE_EXPONENTS = (-126, 119)


def encode_fp8(values: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Round to fp8 with one scale per block of 128.

    Args:
        values: [..., dim] float32, finite, dim a multiple of 128.
    Returns: codes [..., dim] uint8 and scales [..., dim // 128] float32 (powers of two).
    Raises: NonFiniteError on NaN or infinity.
    """
    assert values.shape[-1] % BLOCK == 0, values.shape
    finite_count = int(np.isfinite(values).sum())
    if finite_count != values.size:
        raise NonFiniteError(format_name="fp8", count=values.size - finite_count, value_count=values.size)
    blocks = values.astype(np.float32).reshape(*values.shape[:-1], values.shape[-1] // BLOCK, BLOCK)
    scales = _scales(np.abs(blocks).max(axis=-1))
    # The quotient of a power of two is exact; float64 keeps it so where it would be a float32 subnormal.
    scaled = blocks.astype(np.float64) / scales[..., None]
    clipped = np.clip(scaled, -FP8_MAX, FP8_MAX).astype(np.float32)
    codes = clipped.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    return codes.reshape(values.shape), scales


def decode_fp8(codes: NDArray[np.uint8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    """Widen fp8 bytes and multiply by their block's scale.

    Args:
        codes: [..., dim] uint8.
        scales: [..., dim // 128] float32.
    Returns: [..., dim] float32.
    """
    assert codes.dtype == np.uint8, codes.dtype
    assert codes.shape[-1] == scales.shape[-1] * BLOCK, (codes.shape, scales.shape)
    values = np.ascontiguousarray(codes).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    blocks: NDArray[np.float32] = values.reshape(*scales.shape, BLOCK) * scales[..., None]
    return blocks.reshape(codes.shape)


def _scales(largest: NDArray[np.float32]) -> NDArray[np.float32]:
    """The smallest power of two that brings `largest` within fp8's range."""
    # In float64, where the quotient of the smallest float32 does not vanish; frexp's fraction is in [0.5, 1).
    fraction, exponent = np.frexp(largest.astype(np.float64) / float(FP8_MAX))
    exponent = np.where(fraction == 0.5, exponent - 1, exponent)
    exponent = np.where(largest == 0, _SCALE_EXPONENTS[0], exponent)
    scales: NDArray[np.float32] = np.ldexp(np.float32(1), np.clip(exponent, *_SCALE_EXPONENTS)).astype(np.float32)
    return scales
