"""The commands: `python run.py [OPTIONS]` runs a scenario, `python run.py COMMAND` does the rest.

Owns: names, help texts and the common options. Does not own: what a command does (its own module). Floor 5.
"""

from __future__ import annotations

import json
from typing import Any

import click

from harness.cli.ablate import ablate_command
from harness.cli.arms import arms_command
from harness.cli.audit import audit_command
from harness.cli.bench import bench_command
from harness.cli.bundle import bundle_command
from harness.cli.capture import capture_command
from harness.cli.compare import compare_command
from harness.cli.convert import convert_command
from harness.cli.doctor import doctor_command
from harness.cli.laws import laws_command
from harness.cli.matrix import matrix_command
from harness.cli.nightly import nightly_command
from harness.cli.options import DEFAULT_SEED, option_name, scenario_options
from harness.cli.plan import plan_command
from harness.cli.plant import plant_command, planted_command
from harness.cli.probe import probe_command
from harness.cli.prove import prove_command
from harness.cli.race import race_command
from harness.cli.replay import replay_command
from harness.cli.report import report_command
from harness.cli.score import score_command
from harness.cli.sensitivity import sensitivity_command
from harness.cli.serve import serve_command
from harness.cli.simulate import DEFAULT_SCENARIO, RUNS_FOLDER, TRANSPORTS, simulate
from harness.cli.stress import stress_command
from harness.cli.sweep import sweep_command
from harness.cli.trace import trace_command
from harness.cli.triage import triage_command
from harness.cli.verify_fix import verify_fix_command
from harness.cli.zoo import zoo_command
from harness.config import flat_view, list_scenarios, load_scenario
from harness.simulation.backends import BACKENDS
from harness.simulation.provenance import project_version

_HELP = """Reproduce, explain and measure KV-cache races.

Without a command, runs one scenario: tool-call sessions over HTTP against a simulated prefill/decode pair, every
reply judged. Exit codes: 0 clean, 1 corruption found, 2 your mistake, 3 environment, 4 could not judge, 130
interrupted (what was done is kept)."""


@click.group(invoke_without_command=True, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help="Name, or path of a TOML file.")
@click.option("--seed", default=DEFAULT_SEED, show_default=True, type=click.IntRange(min=0), help="Root of all chance.")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--out", default=str(RUNS_FOLDER), show_default=True, metavar="DIR", help="Parent of the run folder.")
@click.option(
    "--trace", default=None, metavar="FILE", help="Write each operation of the machine to FILE; *.kvt: columns."
)
@click.option(
    "--transport",
    default="aiohttp",
    show_default=True,
    type=click.Choice(tuple(TRANSPORTS)),
    help="The sessions' client: the fast one, or the official one that applications use.",
)
@click.option(
    "--backend",
    default="virtual",
    show_default=True,
    type=click.Choice(BACKENDS),
    help="What the machine runs on: virtual time, OS threads, or a CUDA device.",
)
@click.option("--chaos", is_flag=True, help="With --backend threaded: streams pause now and then.")
@scenario_options
@click.version_option(project_version(), prog_name="kvrace")
@click.pass_context
def app(context: click.Context, /, **arguments: Any) -> int | None:
    if context.invoked_subcommand is not None:
        _refuse_given(context)
        return None
    return simulate(arguments)


def _refuse_given(context: click.Context) -> None:
    """Options in front of a command would go unheard, so they are the user's mistake."""
    command_line = click.core.ParameterSource.COMMANDLINE
    for parameter in context.command.params:
        if parameter.name and context.get_parameter_source(parameter.name) is command_line:
            where = f"stands before the command '{context.invoked_subcommand}'; a command's options follow it"
            raise click.UsageError(f"{parameter.opts[-1]} {where}")


@app.command("list", help="List the scenarios.")
@click.option("--json", "is_json", is_flag=True, help="One JSON array on standard output.")
def list_command(is_json: bool) -> int:
    lines = list_scenarios()
    if is_json:
        click.echo(json.dumps([{"name": line.name, "expect": line.expect, "summary": line.summary} for line in lines]))
        return 0
    width = max(len(line.name) for line in lines)
    for line in lines:
        click.echo(f"{line.name:<{width}}  {line.expect:<10}  {line.summary}")
    return 0


@app.command("options", help="List every option of a scenario with its value.")
@click.option("--scenario", default=DEFAULT_SCENARIO, show_default=True, help="Name, or path of a TOML file.")
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
def options_command(scenario: str, is_json: bool) -> int:
    values = flat_view(load_scenario(scenario))
    if is_json:
        click.echo(json.dumps(values))
        return 0
    for key, value in values.items():
        if "." in key:
            click.echo(f"{option_name(key):<36}  {key:<40}  {value}")
    return 0


_COMMANDS = (
    sweep_command,
    arms_command,
    matrix_command,
    compare_command,
    nightly_command,
    sensitivity_command,
    serve_command,
    stress_command,
    probe_command,
    capture_command,
    bundle_command,
    ablate_command,
    score_command,
    audit_command,
    plan_command,
    plant_command,
    planted_command,
    report_command,
    race_command,
    convert_command,
    prove_command,
    replay_command,
    trace_command,
    triage_command,
    bench_command,
    doctor_command,
    verify_fix_command,
    zoo_command,
    laws_command,
)

for command in _COMMANDS:
    app.add_command(command)
