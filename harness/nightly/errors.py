"""Failures of the nightly job, each with one clear sentence.

Owns: the texts. Floor 5. A regression is data and never comes this way.
"""

from __future__ import annotations

from pathlib import Path

from harness.nightly.budget import span_text
from kernels.errors import ConfigError, EnvironmentProblem, KVRaceError


class NightUnderWay(EnvironmentProblem):
    """Another nightly job works in the same folder."""

    def __init__(self, home: Path, pid: int | None, host: str | None, age_s: float | None) -> None:
        self.home = home
        self.pid = pid
        self.host = host
        self.age_s = age_s
        owner = "an owner that has left no name" if pid is None else f"process {pid} on {host}"
        since = "" if age_s is None else f", for {span_text(age_s)}"
        super().__init__(
            f"a nightly job is under way in '{home}' already ({owner}{since})",
            remedy="wait until it ends, or give --out another folder",
        )


class NotANight(ConfigError):
    """The path that the user gave holds no night that can be read."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"'{path}' is not the folder of a night: {why}", key="run_dir", value=str(path))


class NotABaseline(ConfigError):
    """A night that must not become the baseline."""

    def __init__(self, path: Path, why: str) -> None:
        self.path = path
        super().__init__(f"'{path}' cannot be the baseline: {why}", key="run_dir", value=str(path))


class NightInterrupted(KVRaceError):
    """Ctrl-C, or a polite request to end: what was done is kept."""

    exit_code = 130

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(f"interrupted; what was done is kept in {folder}, marked partial")
