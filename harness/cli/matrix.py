"""`run.py matrix`: HiCache on and off, bf16 and fp8, with and without the gate, over the same seeds; one report.

Owns: its options and what it prints. Does not own: making the matrix (`harness.search`), its record (`results.matrix`),
the report (`results.report`). Floor 5.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.campaign import CampaignInterrupted, campaign_options, names_of, repeat_words, watched
from harness.cli.options import overrides_from
from harness.cli.simulate import RUNS_FOLDER
from harness.simulation.backends import BACKENDS, BackendChoice

if TYPE_CHECKING:
    # Loading these costs more than a refused command should; the command loads them when it runs.
    from harness.search.matrix_making import MatrixRequest
    from results.matrix.record import MatrixRecord

MATRICES_FOLDER = RUNS_FOLDER / "matrices"
DEFAULT_SEEDS = "10"
DEFAULT_SEEDS_UNTIL_DECIDED = "0-199"

_SOURCE_DIGITS = 6
_HELP = """Run arms that differ in named switches over the same seeds: HiCache on and off, index-K as bf16 and fp8, with
and without the gate. One table, one report.

The seed is the unit of every interval and p (ten seeds unless --seeds says otherwise); pairs that differ in one switch
are compared, with Holm's correction over all of them. Every run is kept under DIR/runs, and DIR/matrix.json is the
record that `compare` and `report` read. An interrupted matrix goes on when the same command is given again; other
source code begins another folder.

With --until decided, seeds are run until every arm's answer is sure (higher or lower than its control, or surely less
than 5 points from it), which is valid at whichever seed it stops; --seeds is then the most that are run (200).

Exit codes: 1 where any arm is corrupted, which the reproducing arms are expected to be (the second line says whether
every arm did what its scenario expects), 0 where all are clean, 4 where one could not be judged, 130 interrupted."""


@click.command("matrix", help=_HELP)
@click.option("--arms", default=None, metavar="LIST", help="Names or TOML files, comma separated.  [default: the five]")
@click.option("--until", default="all", show_default=True, type=click.Choice(("all", "decided")),
              help="Run all seeds, or stop as soon as the answer is sure.")  # fmt: skip
@click.option("--backend", default="virtual", show_default=True, type=click.Choice(BACKENDS),
              help="What the machines run on. Real time wants one run at a time: --workers 1.")  # fmt: skip
@campaign_options(default_seeds=None)
def matrix_command(**arguments: Any) -> int:
    from harness.search.matrix import DEFAULT_ARMS, plan_matrix
    from harness.search.matrix_making import MatrixRequest
    from harness.search.seeds import parse_seeds, seeds_text
    from harness.search.source import source_fingerprint
    from results.matrix.folder import is_matrix

    is_until = arguments["until"] == "decided"
    seeds = parse_seeds(arguments["seeds"] or (DEFAULT_SEEDS_UNTIL_DECIDED if is_until else DEFAULT_SEEDS))
    given = DEFAULT_ARMS if arguments["arms"] is None else names_of(arguments["arms"])
    overrides = overrides_from(arguments)
    plan = plan_matrix(given, seeds, overrides, BackendChoice(arguments["backend"]))
    default = MATRICES_FOLDER / f"{plan.name}-{source_fingerprint()[:_SOURCE_DIGITS]}"
    folder = default if arguments["out"] is None else Path(arguments["out"])
    repeat = _repeat(arguments, seeds_text(seeds), overrides)
    request = MatrixRequest(plan, folder, int(arguments["jobs"]), repeat, is_until, bool(arguments["mixed_sources"]))
    click.echo(f"seeds {seeds_text(seeds)}, arms {', '.join(plan.arms)}", err=True)
    try:
        record = _make(request, arguments)
    except CampaignInterrupted:
        if is_matrix(folder):
            _reports(folder)
        raise
    _show(record, folder, _reports(folder), is_json=bool(arguments["json"]))
    return record.verdict.exit_code


def _make(request: MatrixRequest, arguments: Mapping[str, Any]) -> MatrixRecord:
    from harness.search.matrix_making import make_matrix

    return watched(lambda watch: make_matrix(request, watch), request.folder, is_quiet=bool(arguments["quiet"]))


def _reports(folder: Path) -> dict[str, Path]:
    from results.report.formats import write_reports
    from results.report.model import build_report

    return write_reports(build_report(folder), folder)


def _show(record: MatrixRecord, folder: Path, reports: Mapping[str, Path], *, is_json: bool) -> None:
    from results.matrix.screen import matrix_screen

    if is_json:
        paths = {name: str(path) for name, path in reports.items()}
        click.echo(json.dumps({**record.as_json(), "run_dir": str(folder), "reports": paths, "command": record.repeat}))
        return
    click.echo(matrix_screen(record))
    for name, path in reports.items():
        click.echo(f"{name:<11} {path}")
    click.echo(f"{'folder':<11} {folder}\n{'repeat':<11} {record.repeat}")


def _repeat(arguments: Mapping[str, Any], seeds: str, overrides: Mapping[str, str]) -> str:
    asked = {} if arguments["arms"] is None else {"--arms": arguments["arms"]}
    asked |= {"--seeds": seeds}
    asked |= {"--backend": arguments["backend"]} if arguments["backend"] != "virtual" else {}
    asked |= {"--until": "decided"} if arguments["until"] == "decided" else {}
    return repeat_words("matrix", asked, overrides)
