"""The root of the project's errors, and the two families that every floor may raise.

Owns: exit codes of failures that are not findings. Corruption is data, never an exception; a bug of ours is an
assert. Floor: below all (imports nothing of the project).
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path


class KVRaceError(Exception):
    """An expected failure with one clear sentence for the user; `exit_code` is what the process ends with."""

    exit_code = 3


class ConfigError(KVRaceError):
    """The user's mistake: a name or value that is not allowed, with the place where it was given."""

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        key: str | None = None,
        value: object = None,
        allowed: Sequence[str] = (),
        file: Path | None = None,
        line: int | None = None,
    ) -> None:
        self.what = what
        self.key = key
        self.value = value
        self.allowed = tuple(allowed)
        self.file = file
        self.line = line
        super().__init__(self._sentence())

    def _sentence(self) -> str:
        place = ""
        if self.file is not None:
            place = f"{self.file}:{self.line}: " if self.line is not None else f"{self.file}: "
        text = place + self.what
        if self.allowed:
            close = get_close_matches(str(self.value if self.value is not None else self.key), self.allowed, n=1)
            if close:
                text += f" (did you mean '{close[0]}'?)"
            text += f"; allowed: {', '.join(self.allowed)}"
        return text


class EnvironmentProblem(KVRaceError):
    """Something about this machine: what, why, and one thing to try."""

    exit_code = 3

    def __init__(self, what: str, *, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(f"{what}; {remedy}")
