"""`run.py prove`: look at every order of a small program; clean only where none was left out.

Owns: its options and what it prints. Does not own: looking (`harness.races`), mutants (`kernels.races`). Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import DEFAULT_SEED, overrides_from, scenario_options
from harness.cli.progress import step_progress
from harness.cli.simulate import DEFAULT_SCENARIO, RUNS_FOLDER

if TYPE_CHECKING:
    from harness.races.workload import Target

_HELP = """Look at every order of conflicting steps of a scenario's small program, or of a program of yours, the
outcomes of each query included.

Exit codes: 0 "exhausted: clean for this workload", 1 a race or a failing order, 4 bounded: the budget ended first, so
nothing is proved. With --mutants: every order that the program relies on is removed or moved, one at a time, and of a
scenario the code of its cache is changed too, one function at a time; 0 where each mutant is caught, by a report that
names what was broken, or proved equivalent; 4 where one is not, or where the program is not clean to begin with."""


@click.command("prove", help=_HELP)
@click.option("--scenario", default=None, help=f"Name, or path of a TOML file.  [default: {DEFAULT_SCENARIO}]")
@click.option("--program", default=None, metavar="FILE[:FUNCTION]", help="A program instead of a scenario.")
@click.option("--pages", default=1, show_default=True, type=click.IntRange(1, 64), help="Pages that are loaded back.")
@click.option("--budget", default=100_000, show_default=True, type=click.IntRange(min=1), help="Orders at most.")
@click.option("--mutants", is_flag=True, help="Break each order of the program in turn; print the kill table.")
@click.option("--markdown", is_flag=True, help="The kill table as the page docs/mutants.md.")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output.")
@click.option(
    "--out",
    default=str(RUNS_FOLDER / "races"),
    show_default=True,
    metavar="DIR",
    help="Folder for tokens that are too long to paste.",
)
@scenario_options
def prove_command(**arguments: Any) -> int:
    from harness.races.looking import Search, look
    from harness.races.sentences import look_json, look_text

    target = _target(arguments)
    budget, is_json = int(arguments["budget"]), bool(arguments["json"])
    if arguments["markdown"] and (is_json or not arguments["mutants"]):
        raise click.UsageError("--markdown is a form of the kill table: give it with --mutants, and without --json")
    if arguments["mutants"]:
        return _mutants(target, arguments)
    # The waits are named and tried once; `race` checks them by thousands of schedules.
    search = Search("exhaustive", budget, DEFAULT_SEED, 100, Path(arguments["out"]))
    found = look(target, search)
    click.echo(json.dumps(look_json(found)) + "\n" if is_json else look_text(found), nl=False)
    return found.exit_code


def _target(arguments: Mapping[str, Any]) -> Target:
    from dataclasses import replace

    from harness.config import load_scenario
    from harness.races.shrinking import standard_shape
    from harness.races.workload import file_target, scenario_target

    overrides = overrides_from(arguments)
    if arguments["program"] is None:
        source = arguments["scenario"] or DEFAULT_SCENARIO
        scenario = load_scenario(source, overrides)
        return scenario_target(scenario, source, replace(standard_shape(scenario), pages=int(arguments["pages"])))
    if arguments["scenario"] is not None:
        raise click.UsageError("--scenario and --program do not go together: prove one thing at a time")
    if overrides:
        raise click.UsageError(f"{next(iter(overrides))} is a setting of a scenario and means nothing with --program")
    return file_target(arguments["program"])


def _mutants(target: Target, arguments: Mapping[str, Any]) -> int:
    from harness.races.mutants.looking import NotClean, kill_table

    is_json, is_page = bool(arguments["json"]), bool(arguments["markdown"])
    try:
        with step_progress("mutants") as watch:
            table = kill_table(target, int(arguments["budget"]), watch)
    except NotClean as refused:
        click.echo(
            json.dumps({"program": target.source, "verdict": "unknown", "why": str(refused)})
            if is_json
            else f"UNKNOWN {refused}"
        )
        return 4
    click.echo(json.dumps(table.as_json()) + "\n" if is_json else table.page() if is_page else table.text(), nl=False)
    return 0 if table.is_settled else 4
