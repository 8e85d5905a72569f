"""`run.py ablate`: the same slip applied to each pool in turn, and how many first tokens change.

Owns: its options and what it prints. Does not own: the experiment (`harness.search.ablation`). Floor 5.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness.cli.campaign import CAMPAIGNS_FOLDER
from harness.cli.simulate import DEFAULT_SCENARIO
from harness.config import load_scenario
from kernels.errors import ConfigError

if TYPE_CHECKING:
    # Loading these costs more than a refused command should; the command loads them when it runs.
    from harness.search.ablation.files import AblationReport
    from harness.search.ablation.measure import Ablation, Progress
    from harness.search.ablation.spec import AblationSpec

Number = TypeVar("Number", int, float)

INTERRUPTED = 130
COULD_NOT_JUDGE = 4
_PROGRESS_LINES = 20

_HELP = """Apply the same slip to index_k, c4, c128 and swa in turn, and count the first tokens that it changes.

The slip: a share of the pages that come back from the host tier, in a share of the pool's layers, still hold another
session's bytes; or the pool is read some microseconds before its own copy of each layer ends. Every outcome is what the
recall model makes of the bytes that were read. DIR/ablation.csv, ablation_replies.csv, ablation.md and three figures
hold the result. Exit code 0 once the ablation is complete, whichever way it comes out."""


@click.command("ablate", help=_HELP)
@click.option("--seed", default=None, type=int, help="Root of all chance.  [default: 100]")
@click.option("--sessions", default=None, type=int, help="Sessions to ask.  [default: 30]")
@click.option("--questions", default=None, type=int, help="Questions a session.  [default: 4]")
@click.option("--redundancy", default=None, metavar="LIST", help="How often a fact is written.  [default: 1,2,4]")
@click.option("--pages", default=None, metavar="LIST", help="Shares of the loaded pages, 0 to 1.")
@click.option("--layers", default=None, metavar="LIST", help="Shares of the pool's layers, 0 to 1.")
@click.option("--delays-us", default=None, metavar="LIST", help="Microseconds before a pool's copy of a layer ends.")
@click.option("--index-k", default=None, metavar="bf16|fp8", help="Number format of index-K.  [default: bf16]")
@click.option("--json", "json", is_flag=True, help="One JSON object on standard output, nothing else there.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--out", default=None, metavar="DIR", help="Folder of the tables and figures.")
def ablate_command(**arguments: Any) -> int:
    spec = spec_from(arguments)
    asked = f"{spec.sessions} sessions x {spec.questions} questions, copies {_list(spec.redundancies)}"
    print(f"seed {spec.seed}, ablation: {asked}", file=sys.stderr if arguments["json"] else sys.stdout, flush=True)

    from harness.search.ablation.files import write_report
    from harness.search.ablation.measure import Ablation
    from kernels.engine.shared import SharedModel

    ablation = Ablation(spec, load_scenario(DEFAULT_SCENARIO), SharedModel())
    report, is_partial = _run(ablation, is_quiet=bool(arguments["quiet"]))
    if report is None:
        print("nothing was measured: no request could be asked", file=sys.stderr)
        return INTERRUPTED if is_partial else COULD_NOT_JUDGE
    name = f"ablation-{spec.index_k}-s{spec.seed}"
    folder = CAMPAIGNS_FOLDER / name if arguments["out"] is None else Path(arguments["out"])
    files = write_report(folder, report)
    command = repeat_command(spec)
    if arguments["json"]:
        click.echo(json.dumps(_json(report, [str(file) for file in files], command, is_partial=is_partial)))
    else:
        click.echo(f"\n{report.text}\nfiles   {folder}\nrepeat  {command}")
    return INTERRUPTED if is_partial else 0


def spec_from(arguments: dict[str, Any]) -> AblationSpec:
    """The experiment that the options ask for. Raises: ConfigError for a value that cannot be run."""
    from harness.search.ablation.spec import AblationSpec, check_spec

    given: dict[str, Any] = {
        "seed": arguments["seed"],
        "sessions": arguments["sessions"],
        "questions": arguments["questions"],
        "redundancies": _numbers("redundancy", arguments["redundancy"], int),
        "page_shares": _numbers("pages", arguments["pages"], float),
        "layer_shares": _numbers("layers", arguments["layers"], float),
        "delays_us": _numbers("delays-us", arguments["delays_us"], float),
        "index_k": arguments["index_k"],
    }
    spec = AblationSpec(**{name: value for name, value in given.items() if value is not None})
    check_spec(spec)
    return spec


def repeat_command(spec: AblationSpec) -> str:
    """The command that asks the same again."""
    options = {
        "--seed": spec.seed,
        "--sessions": spec.sessions,
        "--questions": spec.questions,
        "--redundancy": _list(spec.redundancies),
        "--pages": _list(spec.page_shares),
        "--layers": _list(spec.layer_shares),
        "--delays-us": _list(spec.delays_us),
        "--index-k": spec.index_k,
    }
    return shlex.join(["python", "run.py", "ablate", *(str(word) for pair in options.items() for word in pair)])


def _run(ablation: Ablation, *, is_quiet: bool) -> tuple[AblationReport | None, bool]:
    """Measure and count. Returns: the report, None where nothing was measured; and whether Ctrl-C ended it early."""
    from harness.search.ablation.files import make_report

    is_partial = False
    try:
        ablation.run(_ignore if is_quiet else _line_watcher())
    except KeyboardInterrupt:
        is_partial = True
    if not any(case.setting.length == "long" for case in ablation.measured.clean):
        return None, is_partial
    return make_report(ablation.spec, ablation.measured, ablation.geometry, partial=is_partial), is_partial


def _json(report: AblationReport, files: list[str], command: str, *, is_partial: bool) -> dict[str, Any]:
    from harness.search.ablation.files import json_cells

    return {
        "seed": report.spec.seed,
        "sessions": report.spec.sessions,
        "questions": report.spec.questions,
        "partial": is_partial,
        "hidden": list(report.conclusion.hidden),
        "c4_against_index_k": {str(copies): found.verdict for copies, found in report.conclusion.latents},
        "conclusion": report.conclusion.text,
        "cells": json_cells(report.counts),
        "replies": json_cells(report.replies),
        "files": files,
        "command": command,
    }


def _numbers(name: str, text: str | None, kind: Callable[[str], Number]) -> tuple[Number, ...] | None:
    if text is None:
        return None
    try:
        return tuple(kind(word.strip()) for word in text.split(","))
    except ValueError:
        wanted = "whole numbers" if kind is int else "numbers"
        raise ConfigError(f"--{name} '{text}': expected {wanted}, comma separated", key=name, value=text) from None


def _list(values: tuple[int, ...] | tuple[float, ...]) -> str:
    return ",".join(f"{value:g}" for value in values)


def _ignore(_: Progress) -> None:
    """Nobody watches."""


def _line_watcher() -> Callable[[Progress], None]:
    """A line on standard error now and then."""
    shown = 0

    def watch(progress: Progress) -> None:
        nonlocal shown
        if progress.sessions_done < shown and progress.sessions_done < progress.sessions_total:
            return
        shown = progress.sessions_done + max(1, progress.sessions_total // _PROGRESS_LINES)
        setting = progress.setting
        what = "short contexts" if setting.length == "short" else f"copies of a fact: {setting.redundancy}"
        print(f"{progress.sessions_done} of {progress.sessions_total} sessions, {what}", file=sys.stderr, flush=True)

    return watch
