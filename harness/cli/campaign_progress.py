"""Progress of many runs on standard error, in place on a terminal, a line now and then elsewhere.

Owns: what it looks like: runs done and left, how fast, the rate of corruption so far. Does not own: when there is
progress. Floor 5.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from results.report.words import percent

if TYPE_CHECKING:
    from harness.search.campaign import CampaignProgress

_LINES = 40
"""Where nobody watches a bar move, about this many lines say how far a campaign is."""

CampaignWatcher = Callable[["CampaignProgress"], None]


@contextmanager
def campaign_progress(*, is_quiet: bool) -> Iterator[CampaignWatcher]:
    """Show the progress of one campaign."""
    console = Console(file=sys.stderr)
    if is_quiet:
        yield _ignore
    elif console.is_terminal:
        columns = (TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[state]}"))
        with Progress(*columns, console=console, transient=True) as bar:
            yield _BarWatcher(bar)
    else:
        yield _LineWatcher()


def state_text(progress: CampaignProgress, elapsed_s: float) -> str:
    """Speed, time left, and corruption so far, in a few words."""
    made, left = progress.jobs_done - progress.reused, progress.jobs_total - progress.jobs_done
    parts = []
    if made and elapsed_s > 0:
        parts.append(f"{60 * made / elapsed_s:.1f} a minute")
        if left:
            parts.append(f"{_duration(elapsed_s / made * left)} left")
    if progress.sessions_judged:
        rate = progress.sessions_corrupted / progress.sessions_judged
        parts.append(
            f"corrupted {progress.sessions_corrupted:,} of {progress.sessions_judged:,} sessions ({percent(rate)})"
        )
    return ", ".join(parts)


def start_text(progress: CampaignProgress) -> str | None:
    """What the log had already; None where it was empty."""
    parts = []
    if progress.reused:
        parts.append(f"{progress.reused} of {progress.jobs_total} runs are in the log already")
    if progress.foreign:
        parts.append(f"{progress.foreign} were made by other source code and are run again")
    return "; ".join(parts) or None


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


def _ignore(_: CampaignProgress) -> None:
    """Nobody watches."""


class _BarWatcher:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._began_s = perf_counter()
        self._task = bar.add_task("runs", total=None, state="")

    def __call__(self, progress: CampaignProgress) -> None:
        if progress.latest is None and (start := start_text(progress)):
            self._bar.console.print(start, highlight=False)
        state = state_text(progress, perf_counter() - self._began_s)
        self._bar.update(self._task, total=progress.jobs_total, completed=progress.jobs_done, state=state)


class _LineWatcher:
    def __init__(self) -> None:
        self._began_s = perf_counter()
        self._next = 0

    def __call__(self, progress: CampaignProgress) -> None:
        if progress.latest is None:
            if start := start_text(progress):
                print(start, file=sys.stderr, flush=True)
            return
        if progress.jobs_done < self._next and progress.jobs_done < progress.jobs_total:
            return
        self._next = progress.jobs_done + max(1, progress.jobs_total // _LINES)
        state = state_text(progress, perf_counter() - self._began_s)
        print(f"{progress.jobs_done} of {progress.jobs_total} runs, {state}", file=sys.stderr, flush=True)
