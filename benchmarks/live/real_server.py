"""What the driver asks of each real server.

Owns: the protocol. Does not own: any server (one file for each of them). Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from benchmarks.live.record import Part

VENVS = Path(__file__).resolve().parents[2] / ".venvs"


class RealServer(Protocol):
    """python: of the environment that it is installed in. packages: whose versions the record tells."""

    @property
    def name(self) -> str: ...

    @property
    def python(self) -> Path: ...

    @property
    def packages(self) -> Sequence[str]: ...

    def measure(self, folder: Path) -> Sequence[Part]:
        """Start it, run our commands against it, stop it; logs and runs are in `folder`.

        Raises: ServerProblem, CommandFailed.
        """
