"""How long a server asks its clients to stay away.

Owns: reading the header. Does not own: obeying it (`harness/live`). Pure. Floor 5. Source: RFC 9110 section 10.2.3.
"""

from __future__ import annotations


def retry_after_s(header: str | None) -> float | None:
    """Seconds, or None where the header is missing, a date, or nonsense: then the client's own pause holds."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
