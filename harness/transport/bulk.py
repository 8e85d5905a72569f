"""aiohttp's habits with large bodies, and how they are kept out of the way.

Owns: the read buffer's size and the form in which a large body is handed over. Does not own: any connection.
Floor 5. Source: facts/loadgen.md (vLLM #39963: the small read buffer cost a factor of ten), aiohttp's own warning.
"""

from __future__ import annotations

import io
from typing import Final

READ_BUFFER_BYTES: Final = 1024 * 1024
"""aiohttp's own 64 KiB make it stop and start reading several times for each long history."""

_PLAIN_BYTES_MAX: Final = 1_000_000


def bulk_body(body: bytes) -> bytes | io.BytesIO:
    """The body as aiohttp wants it: it warns about plain bytes of more than a mebibyte."""
    return io.BytesIO(body) if len(body) > _PLAIN_BYTES_MAX else body
