"""`run.py race`: look for races in a scenario, a program, or a stored trace.

Owns: its options, and which of the three is looked at. Does not own: looking (`harness.races`), reports. Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from harness.cli.options import DEFAULT_SEED, overrides_from, scenario_options
from harness.cli.replay import html_option
from harness.cli.simulate import DEFAULT_SCENARIO, RUNS_FOLDER

_HELP = """Find races, name the missing order, show each by a replay, and check the wait that would close it.

Of a scenario (the default): a few sessions are served with the detector reading along, the workload is shrunk to the
smallest that shows the same race, and that is explored. Of a program: any function of one machine (Stream, Event,
Buffer) in a Python file. Of a trace: one stored execution; nothing is run again.

Exit codes: 0 nothing found and every order looked at (of a trace: nothing unordered in it), 1 a race or a failing
order, 2 your mistake, 3 environment, 4 could not judge."""


@click.command("race", help=_HELP)
@click.option("--scenario", default=None, help=f"Name, or path of a TOML file.  [default: {DEFAULT_SCENARIO}]")
@click.option("--program", default=None, metavar="FILE[:FUNCTION]", help="A program instead of a scenario.")
@click.option("--trace", default=None, metavar="FILE", help="A stored trace of either format.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Root of all chance.")
@click.option("--strategy", default="auto", show_default=True, help="auto, exhaustive, or one sampler.")
@click.option(
    "--budget", default=10_000, show_default=True, type=click.IntRange(min=1), help="Schedules of the search."
)
@click.option(
    "--mend-schedules",
    default=10_000,
    show_default=True,
    type=click.IntRange(min=0),
    help="Schedules that check each named wait.",
)
@click.option("--all", "all", is_flag=True, help="List every race, not one a kind.")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.option(
    "--out",
    default=str(RUNS_FOLDER / "races"),
    show_default=True,
    metavar="DIR",
    help="Folder for tokens that are too long to paste.",
)
@html_option
@scenario_options
def race_command(**arguments: Any) -> int:
    from harness.races.pages import check_page_path

    given = [name for name in ("scenario", "program", "trace") if arguments[name] is not None]
    if len(given) > 1:
        raise click.UsageError(f"--{given[0]} and --{given[1]} do not go together: look at one thing at a time")
    check_page_path(arguments["html"])
    if arguments["trace"] is not None:
        return _stored(arguments)
    return _looked_at(arguments)


def _looked_at(arguments: Mapping[str, Any]) -> int:
    from harness.races.looking import Search, look
    from harness.races.pages import look_page, write_page
    from harness.races.sentences import look_json, look_text
    from harness.races.served import serve_and_watch, small_scenario
    from harness.races.shrinking import shrink, standard_shape
    from harness.races.workload import file_target, scenario_target
    from kernels.races.naming.naming import kind_of
    from kernels.races.search.portfolio import check_strategy

    seed, is_json = int(arguments["seed"]), bool(arguments["json"])
    check_strategy(arguments["strategy"])
    search = Search(
        arguments["strategy"], int(arguments["budget"]), seed, int(arguments["mend_schedules"]), Path(arguments["out"])
    )
    if arguments["program"] is not None:
        _refuse_overrides(arguments, "--program")
        found = look(file_target(arguments["program"]), search)
    else:
        source = arguments["scenario"] or DEFAULT_SCENARIO
        scenario = small_scenario(source, overrides_from(arguments))
        click.echo(f"seed {seed}, serving {scenario.workload.sessions} sessions of {scenario.name}", err=True)
        served = serve_and_watch(scenario, seed)
        wanted = {kind_of(group.shown) for group in served.groups}
        shrunk = shrink(scenario, wanted) if wanted else None
        target = scenario_target(scenario, source, shrunk.shape if shrunk is not None else standard_shape(scenario))
        found = look(target, search, served=served, shrunk=shrunk)
    if is_json:
        click.echo(json.dumps(look_json(found)))
    else:
        click.echo(look_text(found, shows_all=bool(arguments["all"])), nl=False)
    if arguments["html"] is not None:
        click.echo(write_page(look_page(found), arguments["html"]), err=True)
    return found.exit_code


def _stored(arguments: Mapping[str, Any]) -> int:
    from harness.races.pages import write_page
    from harness.races.stored_trace import judge_file, stored_json, stored_page, stored_text

    _refuse_overrides(arguments, "--trace")
    stored = judge_file(arguments["trace"])
    click.echo(json.dumps(stored_json(stored)) + "\n" if arguments["json"] else stored_text(stored), nl=False)
    if arguments["html"] is not None:
        click.echo(write_page(stored_page(stored), arguments["html"]), err=True)
    return stored.exit_code


def _refuse_overrides(arguments: Mapping[str, Any], instead: str) -> None:
    overrides = overrides_from(arguments)
    if overrides:
        raise click.UsageError(f"{next(iter(overrides))} is a setting of a scenario and means nothing with {instead}")
