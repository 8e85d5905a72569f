"""`run.py arms`: the standard arms over the same seeds, in one table.

Owns: its options and what it prints. Does not own: the table (`harness.search.arms`) and its files. Floor 5.
"""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.campaign import campaign_folder, campaign_options, names_of, repeat_words, run_jobs
from harness.cli.options import overrides_from

_HELP = """Run the arms of the incident over the same seeds: HiCache with index-K as bf16, as fp8, with the gate put
back, and both formats without HiCache.

Shows each arm's mean rate of corrupted sessions with an interval whose unit is the seed, the paired difference of the
two formats, and the ratio of host-hit shares with and without the gate. An interrupted command goes on when it is given
again. DIR/arms.csv, arms.json, arms.md and arms.png hold the result. Exit code 0 once every run is done."""


@click.command("arms", help=_HELP)
@click.option("--scenarios", default=None, help="Names or TOML files, comma separated.  [default: the five arms]")
@campaign_options(default_seeds="0-19")
def arms_command(**arguments: Any) -> int:
    from harness.search.arm_files import arms_notes, arms_object, arms_table, write_arms
    from harness.search.arms import STANDARD_ARMS, arm_table, plan_arms
    from harness.search.seeds import parse_seeds, seeds_text

    overrides = overrides_from(arguments)
    chosen = arguments["scenarios"]
    plan = plan_arms(STANDARD_ARMS if chosen is None else names_of(chosen), parse_seeds(arguments["seeds"]), overrides)
    folder = campaign_folder(arguments, "arms")
    table = arm_table(plan, run_jobs(plan.jobs, arguments, folder))
    asked = {"--scenarios": ",".join(plan.arms)} if chosen is not None else {}
    command = repeat_words("arms", {**asked, "--seeds": seeds_text(plan.seeds)}, overrides)
    write_arms(folder, table, command)
    if arguments["json"]:
        click.echo(json.dumps({**arms_object(table), "folder": str(folder), "command": command}))
    else:
        click.echo(f"{arms_table(table)}\n{arms_notes(table)}\nfiles   {folder}\nrepeat  {command}")
    return 0
