"""One command of this tool as a child process, with a deadline.

Owns: its start, its log, and that it ends: first asked politely, so that it keeps what it has done, then made to. Does
not own: which command, or what its exit code means (`checks`). Floor 5. Source: ours.

A process of its own for each check: one that crashes, or eats the memory, does not take the night with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

from harness.nightly.clock import NightClock
from harness.simulation.provenance import ROOT

GRACE_S = 60.0
"""A matrix writes its record and its reports when it is asked to end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A child that has ended. code: its exit code, negative for a signal. out: its standard output.

    last_words: the last line that it said on standard error. is_late: it was ended by its deadline.
    is_interrupted: by Ctrl-C.
    """

    code: int
    out: str
    last_words: str
    wall_s: float
    is_late: bool
    is_interrupted: bool


def run_command(
    words: Sequence[str], /, *, log: Path, timeout_s: float, clock: NightClock, on_line: Callable[[str], None]
) -> Ended:
    """Run `python run.py WORDS` and wait for it.

    Effect: its standard error goes to `log`, and line by line to `on_line`. Ctrl-C ends it as its deadline does.
    """
    began_s = clock.elapsed_s()
    # A session of its own: what Ctrl-C means is decided here, and the child hears of it once.
    child = subprocess.Popen(
        [sys.executable, str(ROOT / "run.py"), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    out: list[str] = []
    said: list[str] = []
    assert child.stdout is not None and child.stderr is not None
    readers = (
        Thread(target=_keep, args=(child.stdout, out)),
        Thread(target=_log, args=(child.stderr, log, on_line, said)),
    )
    for reader in readers:
        reader.start()
    is_late = is_interrupted = False
    try:
        child.wait(timeout=max(0.0, timeout_s))
    except subprocess.TimeoutExpired:
        is_late = True
    except KeyboardInterrupt:
        is_interrupted = True
    finally:
        _end(child)
        for reader in readers:
            reader.join()
        child.stdout.close()
        child.stderr.close()
    last = next((line for line in reversed(said) if line.strip()), "")
    wall_s = clock.elapsed_s() - began_s
    return Ended(child.returncode, "".join(out), last.strip(), wall_s, is_late, is_interrupted)


def _end(child: subprocess.Popen[str]) -> None:
    """Effect: nothing of the child is left, also none of its own children."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        # Only the child itself is asked; it ends its own workers in order. At last, the whole session has to go.
        os.killpg(child.pid, number) if number == signal.SIGKILL else child.send_signal(number)
        try:
            child.wait(timeout=GRACE_S)
        except subprocess.TimeoutExpired:
            continue


def _keep(pipe: IO[str], out: list[str]) -> None:
    out.append(pipe.read())


def _log(pipe: IO[str], log: Path, on_line: Callable[[str], None], said: list[str]) -> None:
    with log.open("w", encoding="utf-8") as file:
        for line in pipe:
            file.write(line)
            said.append(line)
            on_line(line.rstrip("\n"))
