"""Progress of long work on standard error, in place on a terminal, a line now and then elsewhere.

Owns: what it looks like. Does not own: when there is progress. Floor 5.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness.simulation.run import RunProgress
from results.report.words import plural

_QUIET_STEPS = 10
"""Where nobody watches a bar move, about this many lines say how far a run is."""


StepWatcher = Callable[[int, int], None]


class RunWatcher(Protocol):
    """where: which part of the work runs, where it has several."""

    def __call__(self, progress: RunProgress, where: str = "") -> None: ...


@contextmanager
def run_progress(*, is_quiet: bool) -> Iterator[RunWatcher]:
    """Show the progress of one run: sessions, turns, corrupted so far."""
    console = Console(file=sys.stderr)
    if is_quiet:
        yield _ignore
    elif console.is_terminal:
        with _bar(console) as progress:
            yield _BarWatcher(progress)
    else:
        yield _LineWatcher()


@contextmanager
def step_progress(noun: str) -> Iterator[StepWatcher]:
    """Show how many steps of a known number are done; the watcher is told both after each."""
    console = Console(file=sys.stderr)
    if console.is_terminal:
        columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(noun, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield lambda done, total: _step_line(noun, done, total)


def _step_line(noun: str, done: int, total: int) -> None:
    every = max(1, total // _QUIET_STEPS)
    if done % every == 0 or done == total:
        print(f"{done} of {total} {noun}", file=sys.stderr, flush=True)


def _ignore(progress: RunProgress, where: str = "") -> None:
    """Nobody watches."""


def _bar(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("sessions ended {task.fields[sessions]}"),
        TextColumn("corrupted turns {task.fields[corrupted]}", style="red"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )


class _BarWatcher:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("turns", total=None, sessions="0", corrupted=0)

    def __call__(self, progress: RunProgress, where: str = "") -> None:
        load = progress.load
        again = "" if progress.asked_again is None else f"asked again, alone: {progress.asked_again}"
        self._bar.update(
            self._task,
            description=", ".join(filter(None, (where, again))) or "turns",
            total=load.turns_total,
            completed=load.turns_ended,
            sessions=f"{load.sessions_ended}/{load.sessions_total}",
            corrupted=progress.corrupted,
        )


class _LineWatcher:
    def __init__(self) -> None:
        self._next_turns = 0
        self._where = ""

    def __call__(self, progress: RunProgress, where: str = "") -> None:
        load = progress.load
        part = f"{where}: " if where else ""
        if where != self._where:
            # Each part has a line of its own, however few turns it has.
            self._where, self._next_turns = where, load.turns_ended + 1
        if progress.asked_again is not None:
            if progress.asked_again % _QUIET_STEPS == 1:
                print(
                    f"{part}{plural(progress.asked_again, 'request')} asked again, on a quiet server", file=sys.stderr
                )
            return
        if load.turns_ended < self._next_turns or load.turns_ended == 0:
            return
        self._next_turns = load.turns_ended + max(1, load.turns_total // _QUIET_STEPS)
        print(
            f"{part}{load.turns_ended} of {load.turns_total} turns, {load.sessions_ended} of {load.sessions_total} "
            f"sessions ended, {plural(progress.corrupted, 'turn')} corrupted",
            file=sys.stderr,
        )
