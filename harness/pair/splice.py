"""Bootstrap fields put into a request without decoding it: the router's whole knowledge of a body.

Owns: the splice and the room numbers. Does not own: validity of the JSON, which each worker checks once anyway.
Floor 5. Source: facts/real-servers.md section 1 (names of the fields, 63-bit room); the rest is ours.

A history of 150 kB is passed on three times a turn. Decoding and encoding it in the router would cost more than
everything else the router does, so the fields are written in front of the object's last brace, where they also win
over fields of the same name that a client sent.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Final

_JSON_SPACE: Final = b" \t\r\n"
_ROOM_MASK: Final = (1 << 63) - 1


def with_bootstrap(body: bytes, *, host: str, port: int, room: int) -> bytes | None:
    """The body with the three bootstrap fields, or None when it is not a JSON object by its first and last byte."""
    bare = body.strip(_JSON_SPACE)
    if len(bare) < 2 or not bare.startswith(b"{") or not bare.endswith(b"}"):
        return None
    fields = b'"bootstrap_host":"%s","bootstrap_port":%d,"bootstrap_room":%d}' % (host.encode(), port, room)
    comma = b"" if not bare[1:-1].strip(_JSON_SPACE) else b","
    return bare[:-1] + comma + fields


class Rooms:
    """Random 63-bit room numbers that depend on the seed and the body, not on which request came first.

    Requests of one virtual instant reach the router in any order. Numbers drawn from a sequence would differ from
    run to run; a keyed hash of the body does not, and the count of equal bodies keeps a retry apart.
    """

    def __init__(self, seed: int, *, memory_bodies: int = 65_536) -> None:
        self._key = seed.to_bytes(16, "little", signed=True)
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._memory_bodies = memory_bodies

    def room(self, body: bytes) -> int:
        digest = blake2b(body, digest_size=16, key=self._key).digest()
        count = self._counts.pop(digest, 0)
        self._counts[digest] = count + 1
        if len(self._counts) > self._memory_bodies:
            self._counts.popitem(last=False)
        mixed = blake2b(digest + count.to_bytes(8, "little"), digest_size=8, key=self._key).digest()
        return int.from_bytes(mixed, "little") & _ROOM_MASK
