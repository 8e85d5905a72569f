"""Which source code made a record: a hash over every file that an outcome can depend on.

Owns: which files those are. Does not own: what is done with records of other sources (`campaign`). Floor 5.

A git revision would not do: while somebody works on the code, every state of it is the same `-dirty` revision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_DIGITS = 12
_AREAS = ("kernels", "harness", "results")
_SUFFIXES = frozenset({".py", ".toml", ".cu"})
_WITHOUT_INFLUENCE = (
    "harness/cli/",
    "harness/races/",
    "harness/search/",
    "kernels/races/",
    "results/report/",
    "results/runs/",
)
"""These show, ask or explain; no figure of a run comes from them."""


def source_fingerprint(root: Path = ROOT) -> str:
    """Twelve hex digits that change with any of the files, scenarios apart: a job's key has their values."""
    digest = hashlib.sha256()
    for name in sorted(_names(root)):
        content = (root / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGITS]


def _names(root: Path) -> Iterator[str]:
    for area in _AREAS:
        for path in (root / area).rglob("*"):
            name = path.relative_to(root).as_posix()
            if path.suffix in _SUFFIXES and not name.startswith(_WITHOUT_INFLUENCE):
                yield name
