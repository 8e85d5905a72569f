"""Failures of reading matrices and of comparing what was stored, each with one clear sentence.

Owns: the texts. Floor 3.
"""

from __future__ import annotations

from pathlib import Path

from kernels.errors import ConfigError


class NotAMatrix(ConfigError):
    """The path that the user gave holds no matrix that can be read."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"'{path}' is not a matrix folder: {why}", key="matrix_dir", value=str(path))
