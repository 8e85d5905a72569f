"""The client that measures: HTTP/1.1 on its own protocol, bytes stamped as they arrive and read when all are there.

Owns: the public name of this package. Floor 5.
"""

from __future__ import annotations

from harness.transport.raw.over_raw import RawTransport

__all__ = ["RawTransport"]
