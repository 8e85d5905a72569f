"""Where a run was made: versions, host, git revision, and the time of day.

Owns: reading them from this machine. Does not own: the manifest's shape (`results`). Floor 5.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("numpy", "aiohttp", "ml_dtypes", "msgspec", "scipy")


def utc_now() -> datetime:
    return datetime.now(UTC)


def versions() -> dict[str, str]:
    """Versions of the interpreter, of this project and of the libraries that a result may depend on."""
    found = {"python": platform.python_version(), "kvrace": project_version()}
    return found | {name: metadata.version(name) for name in _LIBRARIES}


def project_version() -> str:
    """The version in pyproject.toml: this is an application, and no installed distribution knows it."""
    for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if line.startswith("version"):
            return line.split('"')[1]
    raise AssertionError("pyproject.toml has no version line")


def host_facts() -> dict[str, object]:
    """What the machine is, without its name or any path."""
    return {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}


def git_revision() -> str | None:
    """Revision of the source, `-dirty` where files differ from it; None outside a repository or without git."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12", "--match="]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
