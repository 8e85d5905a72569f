"""`run.py sweep`: one axis, many values, many seeds; a table, a CSV and a figure.

Owns: its options and what it prints. Does not own: the sweep (`harness.search.sweep`) and its files. Floor 5.
"""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.campaign import campaign_folder, campaign_options, names_of, repeat_words, run_jobs
from harness.cli.options import overrides_from
from harness.cli.simulate import DEFAULT_SCENARIO

_HELP = """Run a scenario over the values of one axis, with many seeds each.

AXIS is sessions; bandwidth (GB/s of a load that has its link to itself); prefix_tokens (a session's whole context; the
first message takes what the scenario's other texts leave, and the pools keep their ratio to it); delay:POINT (values
such as 0us,100us,1ms); or any SECTION.KEY of a scenario.

Each run that ends is a line in DIR/runs.jsonl at once: an interrupted sweep goes on when the same command is given
again. DIR/sweep.csv, sweep.md and sweep.png hold the result. Exit code 0 once the sweep is complete."""


@click.command("sweep", help=_HELP)
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help="Names or TOML files, comma separated.")
@click.option("--axis", required=True, help="What varies.")
@click.option("--values", required=True, help="Its values, comma separated.")
@campaign_options(default_seeds="20")
def sweep_command(**arguments: Any) -> int:
    from harness.search.axes import parse_axis, parse_values
    from harness.search.seeds import parse_seeds, seeds_text
    from harness.search.sweep import plan_sweep, sweep_rows
    from harness.search.sweep_files import sweep_csv_rows, sweep_notes, sweep_table, write_sweep

    overrides = overrides_from(arguments)
    axis, values, seeds = (
        parse_axis(arguments["axis"]),
        parse_values(arguments["values"]),
        parse_seeds(arguments["seeds"]),
    )
    sweep = plan_sweep(names_of(arguments["scenario"]), axis, values, seeds, overrides)
    folder = campaign_folder(arguments, "sweep", arguments["scenario"], axis.name)
    rows = sweep_rows(sweep, run_jobs(sweep.jobs, arguments, folder))
    asked = {"--scenario": arguments["scenario"], "--axis": axis.name, "--values": ",".join(values)}
    command = repeat_words("sweep", {**asked, "--seeds": seeds_text(seeds)}, overrides)
    write_sweep(folder, sweep, rows, command)
    if arguments["json"]:
        found = {"axis": axis.name, "seeds": list(seeds), "rows": sweep_csv_rows(sweep, rows)}
        click.echo(json.dumps({**found, "folder": str(folder), "command": command}))
    else:
        click.echo(f"{sweep_table(sweep, rows)}\n{sweep_notes(sweep, rows)}\nfiles   {folder}\nrepeat  {command}")
    return 0
