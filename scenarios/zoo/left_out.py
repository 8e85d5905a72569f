"""Rows of the table of public bugs that have no specimen, and why.

Owns: the list; a test holds it to the table. Floor 4. Source: facts/bugs.md section 2.
"""

from __future__ import annotations

from collections.abc import Mapping

ROWS: tuple[str, ...] = tuple(f"B{number:02}" for number in range(1, 42))
"""All rows of the table."""

LEFT_OUT: Mapping[str, str] = {
    "B22": "Mooncake issue 1374 (open, grade C): two processes put one key, and the thread agrees on no cause",
}
