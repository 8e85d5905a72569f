"""`run.py triage`: start a server by the user's own commands, once for each switch, and see which one cures it.

Owns: its options, what it prints, Ctrl-C. Does not own: plans and arms (`harness.triage`), the load (`harness.live`).
Floor 5.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from harness.cli.progress import run_progress
from harness.cli.simulate import RUNS_FOLDER
from harness.cli.stress import stress_command
from kernels.errors import ConfigError

if TYPE_CHECKING:
    from harness.live.request import LiveRequest
    from harness.triage.plan import TriagePlan
    from harness.triage.run import TriageRun

_HELP = """Find the switch that makes a corruption go away: start, load and stop the server for each toggle of a plan.

The plan is a TOML file: how the server is started, how it is loaded (options of `run.py stress`), and the toggles, each
a change of the command line, the environment or the load. `--template sglang` prints one to begin with. First the base
runs; where it is corrupted, each toggle by itself; where none cures alone, all of them, and then the fewest that do.
At the end the base once more: a server that changed by itself would make every toggle look like a cure.

Exit codes: 0 the base is clean, 1 corruption found, 2 your mistake, 3 the base cannot be run, 4 it could not be judged,
130 interrupted (what was done is kept)."""

_TEMPLATES = ("sglang", "vllm", "pair")
_NOT_IN_A_PLAN = ("arms", "base_url", "duration", "blocks", "out", "json", "quiet")


@click.command("triage", help=_HELP)
@click.option("--plan", "file", default=None, type=click.Path(path_type=Path), metavar="FILE", help="The plan.")
@click.option("--template", default=None, type=click.Choice(_TEMPLATES), help="Print a plan to begin with, and end.")
@click.option("--dry-run", is_flag=True, help="Show what each arm would run, and end.")
@click.option("--strategy", default="each", show_default=True, type=click.Choice(("each", "bisect")),
              help="each: every toggle by itself. bisect: all at once, then halves; fewer starts.")  # fmt: skip
@click.option("--out", default=str(RUNS_FOLDER), show_default=True, metavar="DIR", help="Parent of the folder.")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.option("--quiet", is_flag=True, help="No progress.")
def triage_command(**arguments: Any) -> int:
    from harness.triage.plan import read_plan
    from harness.triage.run import TriageRun

    if arguments["template"] is not None:
        print(
            resources.files("harness.triage").joinpath("templates", f"{arguments['template']}.toml").read_text(), end=""
        )
        return 0
    file = arguments["file"]
    if file is None:
        raise ConfigError("no plan is named; give --plan FILE, or see --template", key="--plan", allowed=_TEMPLATES)
    plan = read_plan(file)
    for toggle in (None, *plan.toggles):
        # Every load is read before any server is started.
        _stress_arguments(_load_words(plan, () if toggle is None else (toggle.name,)))
    if arguments["dry_run"]:
        print(_dry(plan))
        return 0
    run = TriageRun(plan, _request, strategy=arguments["strategy"], out=Path(arguments["out"]))
    repeat = ["python", "run.py", "triage", "--plan", str(file), "--strategy", arguments["strategy"]]
    return _run(run, shlex.join(repeat), is_json=bool(arguments["json"]), is_quiet=bool(arguments["quiet"]))


def _run(run: TriageRun, repeat: str, *, is_json: bool, is_quiet: bool) -> int:
    from harness.live.command_secrets import without_secrets
    from harness.triage.record import TRIAGE, keep, markdown, write_triage
    from harness.triage.run import Watcher

    stream = sys.stderr if is_json else sys.stdout

    def on_arm(name: str, words: Sequence[str]) -> None:
        print(f"{name}: {shlex.join(without_secrets(words))}", file=stream, flush=True)

    def on_loop(loop: asyncio.AbstractEventLoop) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, run.stop)

    with run_progress(is_quiet=is_quiet) as watch:
        run.run(Watcher(lambda name, command: on_arm(name, command.words), watch, on_loop))
    record, matrix = keep(run, repeat)
    path = write_triage(run.folder, record)
    reports = {} if matrix is None else _reports(run.folder)
    if is_json:
        shown = {**asdict(record), "matrix": None if matrix is None else matrix.as_json(), "run_dir": str(run.folder)}
        print(json.dumps({**shown, "reports": reports}))
    else:
        print(f"\n{markdown(record, matrix)}")
        for name, where in {TRIAGE: str(path), **reports, "folder": str(run.folder), "repeat": record.repeat}.items():
            print(f"{name:<11} {where}")
    return record.exit_code


def _reports(folder: Path) -> dict[str, str]:
    from results.report.formats import write_reports
    from results.report.model import build_report

    return {name: str(path) for name, path in write_reports(build_report(folder), folder).items()}


def _request(words: Sequence[str], base_url: str) -> LiveRequest:
    from harness.live.stress_request import stress_requests

    requests, notes = stress_requests({**_stress_arguments(words), "base_url": base_url}, None, is_compared=True)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    return requests[0]


def _load_words(plan: TriagePlan, toggles: Sequence[str]) -> Sequence[str]:
    from harness.triage.command import command_of

    return command_of(plan, [plan.toggle(name) for name in toggles], "0").stress


def _stress_arguments(words: Sequence[str]) -> dict[str, Any]:
    """What `run.py stress` makes of these options. Raises: ConfigError for one it has not, or that a plan decides."""
    try:
        context = stress_command.make_context("stress", list(words))
    except click.UsageError as problem:
        raise ConfigError(f"stress options of the plan: {problem.format_message()}", key="stress.options") from None
    for name in _NOT_IN_A_PLAN:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            what = f"--{name.removesuffix('s').replace('_', '-') if name == 'arms' else name.replace('_', '-')}"
            raise ConfigError(
                f"{what} has no place in a plan's stress options; triage decides it", key="stress.options"
            )
    return dict(context.params)


def _dry(plan: TriagePlan) -> str:
    from harness.live.command_secrets import without_secrets
    from harness.triage.command import changes_nothing, command_of
    from harness.triage.plan import BASE, PORT

    base = shlex.join(without_secrets(command_of(plan, [], PORT).words))
    lines = [
        f"each arm: {plan.stress.blocks} blocks of `stress {shlex.join(_load_words(plan, ()))}`",
        f"{BASE}: {base}",
    ]
    for toggle in plan.toggles:
        words = shlex.join(without_secrets(command_of(plan, [toggle], PORT).words))
        parts = ["" if words == base else words, *(f"{name}=..." for name in toggle.env)]
        parts.append(f"`stress ... {toggle.stress}`" if toggle.stress else "")
        nothing = "(changes nothing here, and is not run)" if changes_nothing(plan, toggle) else ""
        lines.append(f"{toggle.name}: {' '.join(filter(None, [*parts, nothing]))}")
    return "\n".join(lines)
