"""`run.py score RUN_DIR`: judge a stored run again, with today's oracles.

Owns: what it prints. Does not own: reading and judging (`results`). The run folder is not changed. Floor 5.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console

from results.reader import Run, open_run
from results.records import Measured
from results.rejudge import judge_run
from results.report.screen import screen
from results.report.witness import first_corrupted
from results.summary import summarise


@click.command("score")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
def score_command(run_dir: Path, is_json: bool) -> int:
    """Judge a stored run again, with today's oracles, and show it. Exit codes as of the run itself."""
    run = open_run(run_dir)
    for fault in run.faults:
        click.echo(f"warning: {fault}", err=True)
    judgements = judge_run(run)
    summary = summarise(
        run.manifest,
        run.turns,
        judgements,
        measured=_measured(run),
        run_dir=str(run_dir),
        partial=run.is_partial,
    )
    if is_json:
        click.echo(json.dumps(summary.as_json()))
    else:
        width = None if sys.stdout.isatty() else 100
        first = first_corrupted(run.turns, judgements)
        Console(width=width, highlight=False).print(screen(summary, run.manifest, first))
    return summary.exit_code()


def _measured(run: Run) -> Measured:
    """A run that was never closed has no measurements; its turns are all there is."""
    return run.manifest.measured or Measured(turn_count=len(run.turns), wall_s=0.0, trace_digest="", counters={})
