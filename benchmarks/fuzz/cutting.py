"""What every property needs: where to cut the bytes, taken from the input itself so that a fuzzer can steer it.

Owns: reading an input as cuts and a payload. Does not own: any property. Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

CUTS_MAX = 6
BYTEWISE_MAX = 96
"""Longer inputs are not fed byte by byte, which would only be slow."""


def cut_input(data: bytes) -> tuple[list[bytes], bytes]:
    """(the payload in pieces, the whole payload). The first bytes say how many cuts, and where."""
    if not data:
        return [], b""
    count = data[0] % (CUTS_MAX + 1)
    places, payload = data[1 : 1 + count], data[1 + count :]
    if not payload:
        return [], b""
    at = sorted({place * len(payload) // 256 for place in places} | {0, len(payload)})
    return [payload[begin:end] for begin, end in pairwise(at)], payload


def ways(data: bytes) -> Iterator[list[bytes]]:
    """The same payload whole, in the input's own pieces, and byte by byte where it is short enough."""
    pieces, payload = cut_input(data)
    yield [payload] if payload else []
    yield pieces
    if len(payload) <= BYTEWISE_MAX:
        yield [payload[at : at + 1] for at in range(len(payload))]
