"""Failures of storing and reading runs, each with one clear sentence.

Owns: the texts. Floor 3. Corruption is data and never comes this way.
"""

from __future__ import annotations

import errno
from pathlib import Path

from kernels.errors import ConfigError, EnvironmentProblem

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class StorageProblem(EnvironmentProblem):
    """The run folder cannot be written: disk full, no permission, or whatever the operating system says."""

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        self.errno = error.errno
        if error.errno in _FULL:
            what = f"the disk that holds '{path}' is full, so the run was stopped (what was stored is whole)"
            remedy = "free some space or name another place with --out"
        elif error.errno in _FORBIDDEN:
            what = f"'{path}' may not be written ({error.strerror})"
            remedy = "name a place that you may write to with --out"
        else:
            what = f"'{path}' cannot be written ({error.strerror or error})"
            remedy = "name another place with --out"
        super().__init__(what, remedy=remedy)


class NotARun(ConfigError):
    """The path that the user gave holds no run that can be read."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"'{path}' is not a run folder: {why}", key="run_dir", value=str(path))


class NewerRun(EnvironmentProblem):
    """The run was stored by a newer version of this tool, in a format that this one does not know."""

    def __init__(self, path: Path, found: str, known: str) -> None:
        self.path = path
        self.found = found
        self.known = known
        super().__init__(
            f"'{path}' was written in format '{found}', and this version reads up to '{known}'",
            remedy="update this tool to read it",
        )
