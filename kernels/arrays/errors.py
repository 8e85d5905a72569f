"""Errors of the array floor that a caller may want to tell apart.

Owns: values that a number format cannot hold, and buffers that do not have the size their layout says. Wrong
shapes are asserts: they are our own bugs. Floor 0.
"""

from __future__ import annotations

from kernels.errors import KVRaceError


class NonFiniteError(KVRaceError):
    """NaN or infinity was handed to a format that shares one scale among many values."""

    def __init__(self, *, format_name: str, count: int, value_count: int) -> None:
        self.format_name = format_name
        self.count = count
        self.value_count = value_count
        super().__init__(
            f"{count} of {value_count} values are NaN or infinite and would take their whole {format_name} block "
            "with them; check what computed them, or store them as bf16"
        )


class LayoutError(KVRaceError):
    """A pool's buffer is not of the size that its layout needs."""

    def __init__(self, *, layout: str, expected_bytes: int, actual_bytes: int) -> None:
        self.layout = layout
        self.expected_bytes = expected_bytes
        self.actual_bytes = actual_bytes
        super().__init__(
            f"a {layout} pool needs {expected_bytes} bytes but the buffer has {actual_bytes}; "
            "compute the buffer's size from the same PoolShape"
        )
