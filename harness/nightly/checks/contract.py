"""What a check of the nightly job is.

Owns: the protocol, and what a check is given. Floor 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.nightly.child import Ended, run_command
from harness.nightly.clock import NightClock
from harness.nightly.config import NightlyConfig
from harness.nightly.record import CheckResult


class StartCommand(Protocol):
    """Runs one command of this tool to its end; `run_command` does."""

    def __call__(
        self, words: Sequence[str], /, *, log: Path, timeout_s: float, clock: NightClock, on_line: Callable[[str], None]
    ) -> Ended: ...


@dataclass(frozen=True, slots=True)
class NightContext:
    """What a check may use. folder: of the night. left_s: what is left of the budget, now.

    worker_count: processes that a check may use. on_line: hears what is going on. start: how a command is run.
    ended: commands so far.
    """

    config: NightlyConfig
    folder: Path
    clock: NightClock
    left_s: Callable[[], float]
    worker_count: int
    on_line: Callable[[str], None]
    start: StartCommand = run_command
    ended: list[Ended] = field(default_factory=list)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended a command."""
        return any(one.is_interrupted for one in self.ended)

    def command(self, name: str, words: Sequence[str]) -> Ended:
        """Run a command until it ends or the budget does. Effect: `NAME.log` and `NAME.out` in the folder."""
        ended = self.start(
            words,
            log=self.folder / f"{name}.log",
            timeout_s=self.left_s(),
            clock=self.clock,
            on_line=self.on_line,
        )
        self.ended.append(ended)
        (self.folder / f"{name}.out").write_text(ended.out, encoding="utf-8")
        return ended


class Check(Protocol):
    """One check. It is judged by absolute expectations here; the comparison with the baseline comes later."""

    @property
    def name(self) -> str: ...

    def run(self, night: NightContext) -> CheckResult:
        """Effect: files in the night's folder."""
