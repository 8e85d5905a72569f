"""`run.py compare A B`: two runs, two arms or two matrices against each other.

Owns: its options and what it prints. Does not own: reading and comparing (`results.comparison`). Floor 5.
"""

from __future__ import annotations

import json

import click

_HELP = """Compare two stored runs, two arms, or two matrices. A and B are run folders, matrix folders, or FOLDER:ARM.

The unit is the seed wherever both sides have seeds; two single runs are compared over sessions, and what that assumes
is said. What is not comparable (other workloads, one conversation on both sides under two seeds, other versions) is
refused with the difference named. Stored runs are judged again with today's oracles.

Exit codes: 1 the rates differ (at 5 % after Holm), 0 identical, or no difference is shown, 2 not comparable, 3 stored
by a newer version, 4 too few units to show anything, or not everything could be read."""


@click.command("compare", help=_HELP)
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option("--across-versions", is_flag=True, help="Compare what other versions of this tool have made.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
def compare_command(first: str, second: str, across_versions: bool, is_json: bool) -> int:
    from results.comparison.comparison import compare
    from results.comparison.screen import comparison_screen
    from results.comparison.sides import open_named

    found = compare(open_named(first), open_named(second), across_versions=across_versions)
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    click.echo(json.dumps(found.as_json()) + "\n" if is_json else comparison_screen(found), nl=False)
    return found.answer.exit_code
