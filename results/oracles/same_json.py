"""Equality of JSON values.

Owns: one comparison. Floor 3. Source: RFC 8259; JSON has one kind of number, and true is none.
"""

from __future__ import annotations

from typing import Any


def is_same_json(a: Any, b: Any) -> bool:
    """Equal as JSON: keys in any order, 1 equals 1.0, but true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(is_same_json(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return (
            isinstance(b, list | tuple)
            and len(a) == len(b)
            and all(is_same_json(x, y) for x, y in zip(a, b, strict=True))
        )
    return bool(a == b)
