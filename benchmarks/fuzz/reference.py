"""A second reading of event streams and HTTP bodies, written for plainness and sharing no line with the product.

Owns: the references that the product is held against. Source: WHATWG HTML "Server-sent events" with the deviations that
the product promises (`harness/transport/sse.py`), and RFC 9112.
"""

from __future__ import annotations

import re

Event = tuple[bytes, str, bool]


def events_of(raw: bytes) -> list[Event]:
    """(data, kind, whether a blank line ended it) of a whole stream."""
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    *lines, last = re.split(rb"\r\n|\n|\r", raw)
    found: list[Event] = []
    data: list[bytes] = []
    kind = b""
    for line in [*lines, *([last] if last else [])]:
        if not line:
            if data:
                found.append((b"\n".join(data), kind.decode(errors="replace") or "message", True))
            data, kind = [], b""
            continue
        name, colon, value = line.partition(b":")
        value = value[1:] if value.startswith(b" ") else value
        if name == b"data":
            data.append(value)
        elif name == b"event":
            kind = value
        elif name == b"error" and colon:
            # A line of its own kind that some servers send; it is an event at once.
            found.append((value, "error", True))
    if data:
        found.append((b"\n".join(data), kind.decode(errors="replace") or "message", False))
    return found
