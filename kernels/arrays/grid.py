"""Values on a binary grid: how float32 sums come out the same in every order.

Owns: rounding to the grid, and the argument why sums on it are exact. Floor 0.

A float32 holds every integer up to 2^24. So numbers that are multiples of 2^-g, and whose partial sums all stay
below 2^(24 - g) in magnitude, are added without rounding. Then no order of summation, no blocking of a matrix
product and no fused multiply-add can change a bit, and NumPy, any BLAS and a GPU agree.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from kernels.arrays.namespace import namespace

MANTISSA_BITS = 24

Float = TypeVar("Float", np.float32, np.float64)


def to_grid(values: NDArray[Float], grid_bits: int) -> NDArray[Float]:
    """Round to the nearest multiple of 2^-grid_bits (ties to even).

    Args:
        values: any shape, float32 or float64. Multiples of that size are kept as they are.
    Returns: same shape and dtype.
    """
    xp = namespace(values)
    scale = values.dtype.type(2.0**grid_bits)
    return cast("NDArray[Float]", xp.rint(values * scale) / scale)
