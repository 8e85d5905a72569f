"""The command line as a child process, for what only a process has: signals, exit codes, two output streams.

Owns: starting it and reading from it. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_S = 150
"""Only a child that hangs needs it; one on a machine that is busy with other things may need a good part of it."""
TEST_S = 170
"""For tests that wait for a child: more than its patience."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that has ended."""

    code: int
    out: str
    err: str


class Child:
    """One running command in a process group of its own, as a terminal's foreground job is."""

    def __init__(self, *words: str, interpreter_options: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *interpreter_options, "run.py", *words],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def first_line(self, stream: str) -> str:
        """Wait for the first line on `stdout` or `stderr`; what comes after it is still to be read."""
        pipe = self.process.stdout if stream == "stdout" else self.process.stderr
        assert pipe is not None
        return pipe.readline()

    def interrupt(self) -> None:
        """What Ctrl-C does: the signal reaches every process of the group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self) -> Ended:
        """Wait until it has ended by itself."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ended(self.process.returncode, out, err)


@contextmanager
def child(*words: str, interpreter_options: tuple[str, ...] = ()) -> Iterator[Child]:
    """A child that is gone afterwards, whatever the test found, and with it everything that it started."""
    running = Child(*words, interpreter_options=interpreter_options)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()
        for pipe in (running.process.stdout, running.process.stderr):
            if pipe is not None:
                pipe.close()


def run_child(*words: str, interpreter_options: tuple[str, ...] = ()) -> Ended:
    """Run a command to its end."""
    with child(*words, interpreter_options=interpreter_options) as running:
        return running.end()
