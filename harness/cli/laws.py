"""`run.py laws`: does a program, or a stored trace, keep what must hold besides order?

Owns: its options. Does not own: looking (`harness.zoo.keeping`), the laws (`kernels.races.laws`). Floor 5.
"""

from __future__ import annotations

import json

import click

_HELP = """Look at one execution for what order cannot see: companion pools that are left behind, rows that are cut, two
owners of one page, a page freed under a transfer, keys that say too little, ranks that differ, failures that are
announced as done, requests that never end.

The laws go by marks that the program, or whoever wrote the trace, puts in; docs/zoo.md lists them.

Exit codes: 0 kept, 1 a law is broken, 2 your mistake, 4 no marks, or a trace that is not understood."""


@click.command("laws", help=_HELP)
@click.option("--program", default=None, metavar="FILE[:FUNCTION]", help="A program; it is run once, in issue order.")
@click.option("--trace", default=None, metavar="FILE", help="A stored trace of either format.")
@click.option(
    "--together", multiple=True, metavar="POOL,POOL", help="These buffers are companions: who moves one moves all."
)
@click.option("--fail", default=None, metavar="LABEL", help="Make the program's copies of this label fail.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output, nothing else there.")
def laws_command(
    program: str | None, trace: str | None, together: tuple[str, ...], fail: str | None, is_json: bool
) -> int:
    from harness.zoo.keeping import program_kept, trace_kept

    if (program is None) == (trace is None):
        raise click.UsageError("give one of --program and --trace")
    if fail is not None and program is None:
        raise click.UsageError("--fail needs --program: a stored trace has happened already")
    sets = [[name.strip() for name in text.split(",")] for text in together]
    if any(len(names) < 2 for names in sets):
        raise click.UsageError("--together names at least two pools, with a comma between them")
    kept = program_kept(program, sets, fail) if program is not None else trace_kept(str(trace), sets)
    click.echo(json.dumps(kept.as_json()) if is_json else kept.text())
    return kept.exit_code
