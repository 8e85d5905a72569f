"""`run.py zoo`: every public bug of this kind as a small program, looked for, and compared with what is expected.

Owns: its options, progress, exit codes. Does not own: judging and tables (`harness.zoo`). Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from harness.cli.options import DEFAULT_SEED
from harness.cli.progress import step_progress
from results.report.words import plural

if TYPE_CHECKING:
    from harness.zoo.judge import Judged
    from scenarios.zoo.specimen import Specimen

INTERRUPTED = 130

_HELP = """Look for every specimen's bug, and check that its fix is clean.

Each specimen is a public bug as a program with a defect switch. With the switch on, the detector must give the expected
names, schedules the expected bytes and replies, and the laws (companions, rows, owners, drain, keys, ranks, ...) the
expected breaches. With it off, everything must be clean, in random schedules too. docs/zoo.md has the table.

Exit codes: 0 everything as expected, 1 a specimen is not, 2 your mistake, 130 interrupted (what was done is shown)."""


@click.group("zoo", help=_HELP, invoke_without_command=True)
@click.option("--class", "kind", default=None, metavar="CLASS", help="Only this race class, such as ARRIVAL-GATE.")
@click.option("--name", default=None, metavar="NAME", help="Only this specimen.")
@click.option(
    "--strategy", default="auto", show_default=True, help="How the first bug is looked for: auto or a sampler."
)
@click.option(
    "--seeds", default=1_000, show_default=True, type=click.IntRange(0, 1_000_000), help="Random schedules of each fix."
)
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="The first of them.")
@click.option("--page", default=None, metavar="FILE", help="Put the table into a page that has a place for it.")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.pass_context
def zoo_command(context: click.Context, /, **arguments: Any) -> int | None:
    if context.invoked_subcommand is not None:
        given = [name for name in arguments if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
        if given:
            raise click.UsageError(
                f"options of zoo mean nothing with '{context.invoked_subcommand}': put its own behind it"
            )
        return None
    from harness.zoo.page import generated_part, put
    from harness.zoo.table import zoo_json, zoo_markdown, zoo_text
    from kernels.races.search.portfolio import check_strategy

    check_strategy(arguments["strategy"])
    if arguments["page"] is not None:
        # Before anything runs: a page without a place is the user's mistake.
        generated_part(Path(arguments["page"]))
    chosen = _chosen(arguments["kind"], arguments["name"])
    _refuse_incomplete(chosen)
    seeds, seed = int(arguments["seeds"]), int(arguments["seed"])
    click.echo(f"seed {seed}, {plural(len(chosen), 'specimen')}", err=True)
    judged = _judged(chosen, arguments["strategy"], seeds, seed)
    is_whole = len(judged) == len(chosen)
    is_expected = all(one.is_expected for one in judged)
    if arguments["json"]:
        body = {"specimens": zoo_json(judged), "as_expected": is_expected and is_whole, "partial": not is_whole}
        click.echo(json.dumps({**body, "seed": seed, "seeds": seeds, "strategy": arguments["strategy"]}))
    else:
        click.echo(zoo_text(judged, seeds), nl=False)
    if arguments["page"] is not None and is_whole:
        put(Path(arguments["page"]), zoo_markdown(judged, seeds))
        click.echo(f"the table is in {arguments['page']}", err=True)
    if not is_whole:
        click.echo(f"interrupted: {len(judged)} of {len(chosen)} specimens were judged", err=True)
        return INTERRUPTED
    return 0 if is_expected else 1


def _chosen(kind: str | None, name: str | None) -> list[Specimen]:
    from scenarios.zoo.registry import named, of_class, specimens

    if kind is not None and name is not None:
        raise click.UsageError("--class and --name do not go together: take one")
    if name is not None:
        return [named(name)]
    if kind is None:
        return specimens()
    wanted = of_class(kind)
    return [specimen for specimen in specimens() if specimen.race_class is wanted]


def _refuse_incomplete(chosen: Sequence[Specimen]) -> None:
    """Raises: ConfigError for the first record that lacks something, with its file."""
    from kernels.errors import ConfigError
    from scenarios.zoo.registry import FOLDER
    from scenarios.zoo.shape import faults_of

    for specimen in chosen:
        path = FOLDER / specimen.race_class.folder / f"{specimen.name}.py"
        for fault in faults_of(specimen, path):
            raise ConfigError(fault, file=path)


def _judged(chosen: Sequence[Specimen], strategy: str, seeds: int, seed: int) -> list[Judged]:
    """All of them, or those that were done when the user had enough."""
    from harness.zoo.judge import judge

    judged: list[Judged] = []
    with step_progress("specimens") as watch:
        try:
            for specimen in chosen:
                judged.append(judge(specimen, strategy, seeds, seed))
                watch(len(judged), len(chosen))
        except KeyboardInterrupt:
            return judged
    return judged


@zoo_command.command("new", help="Write a template for a specimen; docs/zoo.md says how to fill it in.")
@click.argument("name")
@click.option("--class", "kind", default="ARRIVAL-GATE", show_default=True, metavar="CLASS", help="Its race class.")
@click.option("--folder", default=None, metavar="DIR", help="Where the classes' folders lie.  [default: the zoo]")
def new_command(name: str, kind: str, folder: str | None) -> int:
    from harness.zoo.template import write_template
    from scenarios.zoo.registry import FOLDER, of_class

    path = relpath(write_template(name, of_class(kind), FOLDER if folder is None else Path(folder)))
    click.echo(f"NEW {path}")
    click.echo(f"look at it       python run.py race --program {path}:defect")
    click.echo(f"when it is full  python run.py zoo --name {name}")
    return 0
