"""Amounts of memory as people write them: `80GB`, `13.02GB`, `74GiB`, `80000000000`.

Owns: the units. Does not own: what an amount is for. Floor 5. Source: ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from kernels.errors import ConfigError

_UNITS: Mapping[str, int] = MappingProxyType(
    {
        "": 1,
        "B": 1,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "TB": 10**12,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
        "TiB": 2**40,
    }
)
_BY_LOWER = MappingProxyType({unit.lower(): size for unit, size in _UNITS.items()})
_SHAPE = re.compile(r"\s*(\d+(?:\.\d+)?(?:e\d{1,2})?)\s*([a-z]*)\s*", re.IGNORECASE | re.ASCII)
_BYTES_MAX = 10**18


def amount_bytes(text: str, option: str) -> int:
    """Bytes of an amount. Raises: ConfigError that names the option and the units."""
    match = _SHAPE.fullmatch(text)
    size = _BY_LOWER.get(match[2].lower()) if match else None
    if match is None or size is None:
        units = ", ".join(unit for unit in _UNITS if unit)
        what = f"{option} '{text}' is no amount of memory: a number and one of {units}, for example 80GB"
        raise ConfigError(what, key=option, value=text)
    amount = round(float(match[1]) * size)
    if not 0 < amount <= _BYTES_MAX:
        raise ConfigError(f"{option} '{text}' is not between 1 byte and 1 EB", key=option, value=text)
    return amount


def gigabytes(amount: float) -> str:
    """`1.10 GB`; small amounts in MB."""
    return f"{amount / 1e9:,.2f} GB" if abs(amount) >= 1e8 else f"{amount / 1e6:,.2f} MB"
