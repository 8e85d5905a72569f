"""Which server the proxy stands in front of.

Owns: reading the URL. Does not own: asking it (`harness/proxy`). Floor 5. Source: ours.

A proxy sends nothing of its own accord, so a server elsewhere needs no permission here: its load is its clients'.
"""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import urlsplit

from kernels.errors import ConfigError

_CONNECT_S: Final = 3.0


def upstream_of(url: str) -> str:
    """The URL without a slash or `/v1` at its end, which is the same server. Raises: ConfigError."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as problem:
        raise ConfigError(f"--upstream is no URL ({problem})", key="--upstream") from None
    if parts.username is not None or parts.password is not None:
        # Not repeated in the sentence: it holds a secret.
        what = "--upstream holds a user name or password; clients send their own, and the proxy passes them on"
        raise ConfigError(what, key="--upstream")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        what = f"--upstream '{url}' is no URL; it has the form http://HOST:PORT"
        raise ConfigError(what, key="--upstream", value=url)
    if parts.query or parts.fragment:
        raise ConfigError("--upstream ends before any '?' or '#'", key="--upstream")
    return url.rstrip("/").removesuffix("/v1")


async def is_answering(upstream: str) -> bool:
    """Whether anybody listens there. Effect: opens a connection, and sends nothing."""
    parts = urlsplit(upstream)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_CONNECT_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
