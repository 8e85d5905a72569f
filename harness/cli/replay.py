"""`run.py replay`: one order once more, by its token.

Owns: its options, and how a token finds its program (`trace` uses that too). Does not own: replaying. Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from harness.races.replaying import Replayed
    from harness.races.workload import Target

F = TypeVar("F", bound=Callable[..., Any])

_HELP = """Run the order that a token names, once more, on the program that it was made with.

TOKEN is what a report prints, or the name of a token file. Exit codes: 1 where the failure shows, 0 where it does not,
2 where the token is refused, because it cannot be read or was made with other code."""


def token_options(command: F) -> F:
    """What a token may not say itself."""
    decorate = (
        click.argument("token"),
        click.option("--scenario", default=None, help="Scenario, where the token does not name it (a TOML of yours)."),
        click.option("--program", default=None, metavar="FILE[:FUNCTION]", help="Program, where it has no path."),
    )
    for one in reversed(decorate):
        command = one(command)
    return command


def html_option(command: F) -> F:
    """The page that goes with a report."""
    text = "Write the report as one HTML page too, with a space-time diagram; it needs no network."
    return click.option("--html", default=None, metavar="FILE", help=text)(command)


@click.command("replay", help=_HELP)
@token_options
@click.option("--with-wait", is_flag=True, help="Add the wait that is named for it: the failure must be gone.")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output.")
@html_option
def replay_command(**arguments: Any) -> int:
    from harness.races.pages import check_page_path, replay_page, write_page
    from harness.races.replaying import replay_json, replay_text

    check_page_path(arguments["html"])
    done, target = replay_named(arguments, with_wait=bool(arguments["with_wait"]))
    click.echo(json.dumps(replay_json(done)) + "\n" if arguments["json"] else replay_text(done), nl=False)
    if arguments["html"] is not None:
        click.echo(write_page(replay_page(done, target), arguments["html"]), err=True)
    return done.exit_code


def replay_named(arguments: Mapping[str, Any], *, with_wait: bool) -> tuple[Replayed, Target]:
    """Read the token, find its program, run it. Raises: TokenRefused, ProgramFailed, ConfigError."""
    from harness.races.replaying import replayed
    from harness.races.token_files import read_token
    from harness.races.workload import target_of

    if arguments["scenario"] is not None and arguments["program"] is not None:
        raise click.UsageError("--scenario and --program do not go together: a token has one program")
    token = read_token(arguments["token"])
    target = target_of(token, scenario=arguments["scenario"], file=arguments["program"])
    return replayed(target, token, with_wait=with_wait), target
