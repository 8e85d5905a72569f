"""Which headers of a request hold secrets, and which of their words must be found nowhere.

Owns: the names. Does not own: any value; none is ever stored. Pure. Floor 5. Source: RFC 9110 section 11.6.2, RFC 6265,
and the names that gateways give to keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_NAMES: Final = ("authorization", "api-key", "apikey", "token", "secret", "cookie", "password", "credential")
_SCHEMES: Final = frozenset({"basic", "bearer", "digest", "token", "apikey", "negotiate"})


def secrets_of(headers: Mapping[str, str]) -> list[str]:
    """Values of keys, tokens and cookies: whole, and word by word. headers: names in lower case."""
    found: list[str] = []
    for name, value in headers.items():
        if any(part in name for part in _NAMES):
            words = [word for word in value.replace(";", " ").split() if word.lower() not in _SCHEMES]
            found += [value, *words, *(word.partition("=")[2] for word in words)]
    return found
