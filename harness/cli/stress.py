"""`run.py stress`: load a live server with tool-call sessions whose right answers are known, and judge every reply.

Owns: its options, what it prints, Ctrl-C. Does not own: the run (`harness.live`), the judgement (`results`). Floor 5.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.evidence_options import evidence_options
from harness.cli.live_options import duration_s, live_options
from harness.cli.liveness_options import liveness_options
from harness.cli.load_options import load_options
from harness.cli.options import DEFAULT_SEED
from harness.cli.oracle_options import oracle_options
from harness.cli.progress import run_progress
from harness.cli.simulate import RUNS_FOLDER
from harness.cli.workload_options import workload_options

if TYPE_CHECKING:
    # Loading these costs more than a refused command should; the command loads them when it runs.
    from harness.live.arms import ArmsRun
    from harness.live.outcome import LiveResult
    from harness.live.run import LiveRun
    from results.matrix.record import MatrixRecord

_HELP = """Load a live OpenAI-compatible server with tool-call sessions whose right answers are known; judge each reply.

The model must copy a call from its notes, or do something easier where it cannot even do that alone (--task). After the
load, turns are asked again alone (--serial-check), so that what the model does by itself is not held against the
server. The run folder is that of a simulation: score, report and compare read it. With two --arm or more,
blocks of time alternate between the servers, each block with the same workload, and the block is the unit.

A server that is not on this machine is loaded only with --i-may-load-this-server. Sessions, tokens and time have caps;
an error storm ends the run; 429 and Retry-After are obeyed.

Exit codes: 0 clean, 1 corruption found, 2 your mistake, 3 the server cannot be used, 4 could not judge or cut short by
the server, 130 interrupted (what was done is kept)."""


@click.command("stress", help=_HELP)
@click.option("--arm", "arms", multiple=True, metavar="NAME=URL", help="A server under a name (two times or more).")
@click.option("--sessions", default=None, type=int, metavar="N", help="Sessions at once, or in all.  [default: 60]")
@click.option("--duration", default=None, metavar="TIME", help="10m, 90s: no session begins later.  [default: once]")
@load_options
@evidence_options
@liveness_options
@click.option("--blocks", default=None, type=click.IntRange(2, 200), metavar="N",
              help="With --arm: blocks of time for each arm.  [default: 6]")  # fmt: skip
@click.option("--prompt-tokens", default=None, type=click.IntRange(1_800, 1_000_000), metavar="N",
              help="First message of a session.  [default: 16,000 to 24,000]")  # fmt: skip
@click.option("--max-tokens", default=160, show_default=True, type=click.IntRange(16, 32_768), help="Of each reply.")
@click.option("--tokens-max", default=20_000_000, show_default=True, type=click.IntRange(min=1),
              help="Budget of the whole run, prompts and replies.")  # fmt: skip
@workload_options
@click.option("--set", "assignments", multiple=True, metavar="workload.KEY=VALUE", help="Override a workload key.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Root of all chance.")
@click.option("--out", default=str(RUNS_FOLDER), show_default=True, metavar="DIR", help="Parent of the run folder.")
@oracle_options
@live_options
def stress_command(**arguments: Any) -> int:
    from harness.live.arms import ArmsRun, run_arms
    from harness.live.run import LiveRun, run_live
    from harness.live.stress_request import blocks_of, stress_requests

    requests, notes = stress_requests(arguments, duration_s(arguments["duration"]))
    is_json = bool(arguments["json"])
    stream = sys.stderr if is_json else sys.stdout
    shown = ", ".join(request.target.base_url for request in requests)
    print(f"seed {arguments['seed']}, {requests[0].load.words()}, model {requests[0].model}, against {shown}",
          file=stream, flush=True)  # fmt: skip
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    with run_progress(is_quiet=bool(arguments["quiet"])) as watch:
        if len(requests) > 1:
            arms = ArmsRun(
                requests, blocks=blocks_of(arguments), out=Path(arguments["out"]),
                on_progress=lambda progress: watch(progress.run, progress.where),
            )  # fmt: skip
            record = run_arms(arms, on_loop=lambda loop: _listen(loop, arms))
            return _show_arms(record, arms, is_json=is_json)
        run = LiveRun(requests[0].watched_by(watch))
        result = run_live(run, on_loop=lambda loop: _listen(loop, run))
    _show(result, is_json=is_json)
    return result.exit_code()


def _listen(loop: asyncio.AbstractEventLoop, run: LiveRun | ArmsRun) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, run.stop)


def _show(result: LiveResult, *, is_json: bool) -> None:
    from rich.console import Console

    from harness.live.outcome import live_json
    from harness.live.screen import live_lines
    from results.report.screen import screen
    from results.report.witness import first_corrupted

    if is_json:
        print(json.dumps(live_json(result)))
        return
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(screen(result.summary, result.manifest, first_corrupted(result.turns, result.judgements)))
    print(live_lines(result))


def _show_arms(record: MatrixRecord, arms: ArmsRun, *, is_json: bool) -> int:
    from harness.live.arms_screen import arms_screen
    from results.report.formats import write_reports
    from results.report.model import build_report

    reports = write_reports(build_report(arms.folder), arms.folder)
    if is_json:
        paths = {name: str(path) for name, path in reports.items()}
        print(json.dumps({**record.as_json(), "run_dir": str(arms.folder), "reports": paths}))
    else:
        print(arms_screen(record))
        for name, path in reports.items():
            print(f"{name:<11} {path}")
        print(f"{'folder':<11} {arms.folder}\n{'repeat':<11} {record.repeat}")
    return arms.exit_code(record)
