"""Which array library an array belongs to.

Owns: that one answer. Does not import CuPy: an array that exists has its library loaded already. Floor 0.
"""

from __future__ import annotations

import sys
from typing import Any


def namespace(array: object) -> Any:
    """The module (`numpy`, `cupy`) whose functions work on `array`."""
    return sys.modules[type(array).__module__.partition(".")[0]]
