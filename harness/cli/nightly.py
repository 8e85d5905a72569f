"""`run.py nightly`, and `run.py nightly accept`: the nightly stress job.

Owns: its options and what it prints. Does not own: the night (`harness.nightly`). Floor 5.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.campaign import core_count, polite_end
from harness.cli.simulate import RUNS_FOLDER

if TYPE_CHECKING:
    # Loading these costs more than a refused command should; the command loads them when it runs.
    from harness.nightly.night import Night

HOME = RUNS_FOLDER / "nightly"
_HELP = """The nightly stress job: the matrix, the speed of the main command, race search, proof and mutants inside one
time budget, compared with the accepted baseline.

What runs is in the configuration, and so are the comparisons: they are named before the night (Holm over all of them).
DIR/nights has one folder a night with report.html, report.md, junit.xml, metrics.prom and verdict.txt; DIR has the
newest of each, the history of all nights and the trend. The baseline never moves by itself: `nightly accept FOLDER`
moves it.

Exit codes: 0 as expected and as the baseline, 1 a regression (new corruption, a reproduction that no longer reproduces,
a slower main command), 2 your mistake, 3 environment (another night is under way), 4 not everything could be judged,
130 interrupted."""

_OUT = click.option("--out", default=str(HOME), show_default=True, metavar="DIR", help="Folder of all nights.")


@click.group("nightly", help=_HELP, invoke_without_command=True)
@click.option(
    "--budget", default=None, metavar="TIME", help="Time at most, such as 2h or 90m.  [default: as configured]"
)
@click.option("--config", default=None, metavar="FILE", help="What runs.  [default: scenarios/nightly.toml]")
@click.option("--jobs", "--workers", "jobs", default=core_count(), show_default="one a core",
              type=click.IntRange(1, 4096), metavar="N", help="Worker processes of the matrix.")  # fmt: skip
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@_OUT
@click.pass_context
def nightly_command(context: click.Context, /, **arguments: Any) -> int | None:
    if context.invoked_subcommand is not None:
        _refuse_given(context)
        return None
    from harness.nightly.budget import parse_budget
    from harness.nightly.checks import REGISTRY
    from harness.nightly.clock import WallNightClock
    from harness.nightly.config import DEFAULT_CONFIG, load_config
    from harness.nightly.errors import NightInterrupted
    from harness.nightly.night import NightRequest, run_night

    file = DEFAULT_CONFIG if arguments["config"] is None else Path(arguments["config"])
    config = load_config(file, tuple(check.name for check in REGISTRY))
    budget_s = config.budget_s if arguments["budget"] is None else parse_budget(arguments["budget"])
    on_line = _ignore if arguments["quiet"] else _tell
    request = NightRequest(
        config, Path(arguments["out"]), budget_s, int(arguments["jobs"]), REGISTRY, WallNightClock(), on_line
    )
    with polite_end():
        night = run_night(request)
    _show(night, is_json=bool(arguments["json"]))
    if night.record.partial:
        raise NightInterrupted(night.folder)
    return night.record.verdict.exit_code


@nightly_command.command("accept")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--out", default=None, metavar="DIR", help="Folder of all nights.  [default: that of RUN_DIR]")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output.")
def accept_command(run_dir: Path, out: str | None, json: bool) -> int:
    """Make the night in RUN_DIR the baseline that later nights are compared with."""
    from harness.nightly.clock import WallNightClock
    from harness.nightly.folder import BASELINE, accept, home_of

    home = (home_of(run_dir) or HOME) if out is None else Path(out)
    record, before = accept(home, run_dir, WallNightClock().utc_now())
    was = "none before" if before is None else f"before: {before.night}"
    if json:
        _tell_json(
            {
                "baseline": record.night,
                "before": None if before is None else before.night,
                "verdict": record.verdict,
                "file": str(home / BASELINE),
            }
        )
    else:
        click.echo(f"baseline {record.night} ({was}); that night was: {record.headline}")
        click.echo(f"{'file':<11} {home / BASELINE}")
    return 0


def _show(night: Night, *, is_json: bool) -> None:
    record = night.record
    if is_json:
        paths = {name: str(path) for name, path in night.reports.items()}
        _tell_json({**record.as_json(), "run_dir": str(night.folder), "reports": paths})
        return
    from harness.nightly.reports.tables import check_table, comparison_table
    from results.report.tables import markdown_table

    click.echo(record.headline)
    for note in record.notes:
        click.echo(note)
    for table in (check_table(record), comparison_table(record)):
        if table.rows:
            click.echo(f"\n{markdown_table(table.headings, table.rows)}", nl=False)
    click.echo()
    for name, path in night.reports.items():
        click.echo(f"{name:<11} {path}")
    click.echo(f"{'folder':<11} {night.folder}")


def _tell_json(value: dict[str, object]) -> None:
    click.echo(json.dumps(value))


def _ignore(_: str) -> None:
    """Nobody watches."""


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _refuse_given(context: click.Context) -> None:
    """Options in front of `accept` would go unheard, so they are the user's mistake."""
    for parameter in context.command.params:
        if parameter.name and context.get_parameter_source(parameter.name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[-1]} stands before 'accept'; its options follow it")
