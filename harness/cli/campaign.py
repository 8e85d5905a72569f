"""What the commands of many runs have in common: their options, how they end early, the command that repeats them.

Owns: `--seeds --jobs --out --json --quiet --mixed-sources`, Ctrl-C, the words of a repeat command. Does not own: jobs
and records (`harness.search`), progress (`campaign_progress`). Floor 5.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.campaign_progress import CampaignWatcher, campaign_progress
from harness.cli.options import scenario_options
from harness.cli.simulate import RUNS_FOLDER
from kernels.errors import KVRaceError

if TYPE_CHECKING:
    # Loading these costs more than a refused command should; the commands load them when they run.
    from harness.search.campaign import CampaignProgress, Records
    from harness.search.job import Job

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

CAMPAIGNS_FOLDER = RUNS_FOLDER / "campaigns"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")


class CampaignInterrupted(KVRaceError):
    """Ctrl-C, or a polite request to end: what was done is kept."""

    exit_code = 130

    def __init__(self, folder: Path, progress: CampaignProgress | None) -> None:
        self.folder = folder
        done = f"{progress.jobs_done} of {progress.jobs_total} runs are" if progress else "what was done is"
        super().__init__(f"interrupted; {done} kept in {folder}, and the same command goes on from there")


def campaign_options(default_seeds: str | None) -> Callable[[F], F]:
    """The options of every campaign, and all those of a scenario: they hold in every run.

    default_seeds: None where the command has a default that depends on its other options.
    """

    def decorate(command: F) -> F:
        options = (
            click.option("--seeds", default=default_seeds, show_default=True, metavar="SEEDS",
                         help="20 (the first twenty), 100-119, or 3,5,8."),
            click.option("--jobs", "--workers", "jobs", default=core_count(), show_default="one a core",
                         type=click.IntRange(1, 4096), metavar="N",
                         help="Worker processes; 1 runs everything in this one."),
            click.option("--json", "json", is_flag=True, help="One JSON object on standard output."),
            click.option("--quiet", is_flag=True, help="No progress."),
            click.option("--out", default=None, metavar="DIR",
                         help="Folder of the log and the tables; a log that is there is continued."),
            click.option("--mixed-sources", is_flag=True,
                         help="Also use runs of the log that other source code has made."),
        )  # fmt: skip
        command = scenario_options(command)
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def campaign_folder(arguments: Mapping[str, Any], *default_name: str) -> Path:
    """`--out`, or a folder whose name depends on the question alone, so that the same command finds it again."""
    if arguments["out"] is not None:
        return Path(arguments["out"])
    return CAMPAIGNS_FOLDER / "-".join(_NOT_IN_A_NAME.sub("-", part) for part in default_name)


def run_jobs(jobs: Sequence[Job], arguments: Mapping[str, Any], folder: Path) -> Records:
    """Run what the folder's log does not have yet, and show how far it is.

    Raises: CampaignInterrupted; what `run_campaign` raises.
    """
    from harness.search.campaign import CampaignOptions, run_campaign

    options = CampaignOptions(folder, int(arguments["jobs"]), mixed_sources=bool(arguments["mixed_sources"]))
    return watched(lambda watch: run_campaign(jobs, options, watch), folder, is_quiet=bool(arguments["quiet"]))


def watched(work: Callable[[CampaignWatcher], T], folder: Path, *, is_quiet: bool) -> T:
    """Do the work of a campaign and show how far it is. Raises: CampaignInterrupted; what the work raises."""
    latest: CampaignProgress | None = None
    with campaign_progress(is_quiet=is_quiet) as watch, polite_end():

        def note(progress: CampaignProgress) -> None:
            nonlocal latest
            latest = progress
            watch(progress)

        try:
            return work(note)
        except KeyboardInterrupt:
            raise CampaignInterrupted(folder, latest) from None


def repeat_words(command: str, options: Mapping[str, str], overrides: Mapping[str, str]) -> str:
    """The command that asks the same question again."""
    words = ["python", "run.py", command]
    for name, value in options.items():
        words += [name, value]
    for key, value in overrides.items():
        is_delay = key.startswith("delays.")
        words += ["--delay", f"{key.removeprefix('delays.')}={value}"] if is_delay else ["--set", f"{key}={value}"]
    return shlex.join(words)


def names_of(text: str) -> tuple[str, ...]:
    """A comma separated list; the names themselves are checked where they are used."""
    return tuple(word.strip() for word in text.split(","))


def core_count() -> int:
    # A container may have been given fewer cores than the machine has.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def polite_end() -> Iterator[None]:
    """SIGTERM ends a campaign as Ctrl-C does; left alone, it would leave the workers behind for a while."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
