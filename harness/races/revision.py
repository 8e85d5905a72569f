"""Which code a program of the simulated machine runs: a digest of its sources.

Owns: the digest, and which folders count. Does not own: hashes of programs (`kernels.races`). Floor 5.

A token names operations by their place on a stream. Any change of the cache's code may move them, so a token that was
made with other code is refused instead of replayed wrongly. Comments count too: the digest is of text.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

_KERNELS = Path(__file__).resolve().parents[2] / "kernels"
_COUNTED = ("hicache", "races/scheduler", "races/strategies", "engine/forward.py", "substrate/contract.py")


def machine_revision() -> str:
    """Eight hex digits of the sources that decide what a small program of the cache issues."""
    digest = blake2b(digest_size=4)
    for path in (*sorted(_sources()), Path(__file__).with_name("cache_program.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources() -> list[Path]:
    found: list[Path] = []
    for name in _COUNTED:
        path = _KERNELS / name
        found += path.glob("*.py") if path.is_dir() else [path]
    return found
