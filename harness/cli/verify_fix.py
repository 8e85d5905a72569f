"""`run.py verify-fix`: is this change a fix, what does it cost, and what does it leave open?

Owns: its options, progress, exit codes. Does not own: trials and figures (`harness.remedies`), campaigns. Floor 5.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from harness.cli.campaign import campaign_folder, campaign_options, names_of, repeat_words, run_jobs
from harness.cli.options import DEFAULT_SEED, overrides_from
from harness.cli.simulate import DEFAULT_SCENARIO

if TYPE_CHECKING:
    from harness.remedies.trial import Bench, Trial
    from scenarios.fixes.catalogue import Fix

NO_SEEDS = "none"

_HELP = """Put a fix into the cache for real and judge it by what runs say: the detector and every order of the small
program, a watched served run, and the rate of corrupted sessions over some seeds, before and after. For what is no fix:
the missing order by its name, and why. For one: what it costs in time to the first token and in throughput, and which
siblings of the race it leaves open.

`--seeds none` leaves the served runs over seeds out. Exit codes: 0 the fix holds (of several: every verdict is what the
catalogue expects), 1 it does not, 2 your mistake, 4 could not judge."""


@click.command("verify-fix", help=_HELP)
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help="Name, or path of a TOML file.")
@click.option(
    "--fix", default=None, metavar="NAME[,NAME]", help="Which fix; several give one table; --list shows them."
)
@click.option("--all", "all", is_flag=True, help="Every fix of the catalogue, in one table.")
@click.option("--list", "list", is_flag=True, help="Show the catalogue; nothing is run.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Of the watched run.")
@click.option(
    "--budget", default=4_000, show_default=True, type=click.IntRange(min=2), help="Schedules of each small program."
)
@campaign_options(default_seeds="0-2")
def verify_fix_command(**arguments: Any) -> int:
    from scenarios.fixes.catalogue import FIXES, fix_named

    is_json = bool(arguments["json"])
    if sum([bool(arguments["fix"]), arguments["all"], arguments["list"]]) != 1:
        raise click.UsageError("give one of --fix NAME, --all and --list")
    if arguments["list"]:
        return _list(is_json)
    fixes = FIXES if arguments["all"] else tuple(fix_named(name) for name in names_of(arguments["fix"]))
    return _judge(fixes, arguments)


def _list(is_json: bool) -> int:
    from harness.remedies.as_json import fixes_json
    from harness.remedies.text import fixes_text

    click.echo(json.dumps({"fixes": fixes_json()}) if is_json else fixes_text())
    return 0


def _judge(fixes: Sequence[Fix], arguments: Mapping[str, Any]) -> int:
    from harness.remedies.as_json import trial_json
    from harness.remedies.figures import plan_figures
    from harness.remedies.text import is_expected, table_text, trial_text
    from harness.remedies.trial import Bench
    from harness.search.seeds import parse_seeds

    source, overrides = str(arguments["scenario"]), overrides_from(arguments)
    seeds = () if arguments["seeds"] == NO_SEEDS else parse_seeds(arguments["seeds"])
    # Everything is checked before anything runs.
    plan = plan_figures(source, overrides, fixes, seeds)
    trials = _trials(Bench(source, overrides, int(arguments["seed"]), int(arguments["budget"])), fixes, arguments)
    folder = campaign_folder(arguments, "verify-fix", source)
    figures = plan.figures(run_jobs(plan.jobs, arguments, folder) if plan.jobs else {})
    names = {} if arguments["all"] else {"--fix": ",".join(fix.name for fix in fixes)}
    repeat = repeat_words("verify-fix", {"--scenario": source, **names, "--seeds": arguments["seeds"]}, overrides)
    if arguments["all"]:
        repeat += " --all"
    is_table = len(fixes) > 1
    if arguments["json"]:
        rows = [trial_json(trial, figures) for trial in trials]
        body = {"fixes": rows} if is_table else rows[0]
        click.echo(json.dumps({"scenario": source, "seeds": list(seeds), **body, "command": repeat}))
    elif is_table:
        click.echo(table_text(trials, figures, source, repeat), nl=False)
    else:
        click.echo(trial_text(trials[0], figures, source, repeat), nl=False)
    if is_table:
        return 0 if all(map(is_expected, trials)) else 1
    return trials[0].verdict.exit_code


def _trials(bench: Bench, fixes: Sequence[Fix], arguments: Mapping[str, Any]) -> list[Trial]:
    """Try each fix against the same run without it."""
    before = bench.before() if any(fix.programs is None for fix in fixes) else None
    trials: list[Trial] = []
    for fix in fixes:
        if not arguments["quiet"]:
            print(f"seed {bench.seed}, trying {fix.name} on {bench.source}", file=sys.stderr)
        trials.append(bench.trial(fix, before))
    return trials
