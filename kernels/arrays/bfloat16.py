"""bf16 as bytes.

Owns: the number format. Floor 0. Source: ml_dtypes' bfloat16 (round to nearest even).

Defined for every float32: NaN stays NaN, infinity stays infinity, and a finite value beyond bf16's largest becomes
infinity. Subnormals are kept.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
from numpy.typing import NDArray


def encode_bf16(values: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Round to bf16.

    Args:
        values: [..., dim] float32.
    Returns: [..., 2 * dim] uint8, little-endian.
    """
    with np.errstate(over="ignore"):
        rounded = np.ascontiguousarray(values, dtype=np.float32).astype(ml_dtypes.bfloat16)
    return rounded.view(np.uint8)


def decode_bf16(stored: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Widen bf16 bytes to float32; exact.

    Args:
        stored: [..., 2 * dim] uint8.
    Returns: [..., dim] float32.
    """
    assert stored.dtype == np.uint8, stored.dtype
    assert stored.shape[-1] % 2 == 0, stored.shape
    values: NDArray[np.float32] = np.ascontiguousarray(stored).view(ml_dtypes.bfloat16).astype(np.float32)
    return values
