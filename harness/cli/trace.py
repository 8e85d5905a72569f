"""`run.py trace`: one order as a picture for Perfetto and chrome://tracing.

Owns: its options. Does not own: the picture (`kernels.races.report.chrome`), replaying. Floor 5.
"""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.replay import replay_named, token_options

_HELP = """Write the order that a token names as Chrome trace JSON to standard output; open it in Perfetto or
chrome://tracing. Streams are tracks, arrows lead from each record to the waits that it ends, and a red arrow shows
the order that is missing. One microsecond of the picture is one step: a chosen order has no time.

Exit code 0 once it is written, whatever the order shows."""


@click.command("trace", help=_HELP)
@token_options
@click.option("--with-wait", is_flag=True, help="Add the wait that is named for it.")
def trace_command(**arguments: Any) -> int:
    from kernels.races.report.chrome import chrome_trace

    done, _ = replay_named(arguments, with_wait=bool(arguments["with_wait"]))
    click.echo(json.dumps(chrome_trace(done.replay.trace, done.races, ns_per_unit=1)))
    return 0
