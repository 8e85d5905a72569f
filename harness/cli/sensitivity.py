"""`run.py sensitivity`: each number of the calibration one step down and one step up.

Owns: its options and what it prints. Does not own: the rows (`harness.search.sensitivity`) and their files. Floor 5.
"""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.campaign import campaign_folder, campaign_options, repeat_words, run_jobs
from harness.cli.options import overrides_from
from harness.cli.simulate import DEFAULT_SCENARIO

_HELP = """Move each number of a scenario's calibration one step down and one step up, all else as it is.

Also shows head starts of 3, 5 and 7 ms. Differences to the base are paired by seed. An interrupted command goes on when
it is given again. DIR/sensitivity.csv, sensitivity.md and sensitivity.png hold the result."""


@click.command("sensitivity", help=_HELP)
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help="Name, or path of a TOML file.")
@click.option("--step", default=0.1, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Relative size of a step.")  # fmt: skip
@campaign_options(default_seeds="100-109")
def sensitivity_command(**arguments: Any) -> int:
    from harness.search.seeds import parse_seeds, seeds_text
    from harness.search.sensitivity import plan_sensitivity, sensitivity_rows
    from harness.search.sensitivity_files import sensitivity_csv_rows, sensitivity_table, write_sensitivity

    overrides, seeds = overrides_from(arguments), parse_seeds(arguments["seeds"])
    plan = plan_sensitivity(arguments["scenario"], seeds, overrides, step=arguments["step"])
    folder = campaign_folder(arguments, "sensitivity", arguments["scenario"])
    base, rows = sensitivity_rows(plan, run_jobs(plan.jobs, arguments, folder))
    asked = {"--scenario": arguments["scenario"], "--step": f"{arguments['step']:g}", "--seeds": seeds_text(seeds)}
    command = repeat_words("sensitivity", asked, overrides)
    write_sensitivity(folder, plan, base, rows, command)
    if arguments["json"]:
        found = {"seeds": list(seeds), "rows": sensitivity_csv_rows(plan, base, rows)}
        click.echo(json.dumps({**found, "folder": str(folder), "command": command}))
    else:
        click.echo(f"{sensitivity_table(base, rows)}\nfiles   {folder}\nrepeat  {command}")
    return 0
