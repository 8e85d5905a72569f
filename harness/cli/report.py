"""`run.py report RUN_DIR`: a stored run or matrix as a page to look at, or as text for an issue, a CI or a dashboard.

Owns: its options and what it prints. Does not own: the report (`results.report`). Floor 5.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from results.report.parts import Report

_TEXTS = ("html", "md", "junit", "json", "prometheus")
_FORMATS = (*_TEXTS, "parquet")
_STANDARD_OUTPUT = "-"

_HELP = """Write what a stored run, or a matrix of runs, came to: verdict, rates with intervals, when and how deep
corruption struck, time lines, evidence, and how to repeat it. No network is needed to read it.

Exit codes as of the run: 0 clean, 1 corruption found, 4 could not judge; 2 where RUN_DIR is no run, 3 where a newer
version wrote it."""


@click.command("report", help=_HELP)
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--format", "formats", multiple=True, default=("html",), show_default=True, type=click.Choice(_FORMATS),
              help="What to write (repeatable).")  # fmt: skip
@click.option("--out", default=None, metavar="FILE",
              help="Where to; - is standard output.  [default: beside the run, report.html and so on]")  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output: verdict, files, faults.")
@click.option("--quiet", is_flag=True, help="No progress.")
def report_command(run_dir: Path, **arguments: Any) -> int:
    from results.report.model import build_report

    formats: tuple[str, ...] = tuple(dict.fromkeys(arguments["formats"]))
    out = arguments["out"]
    _refuse(formats, out, is_json=arguments["is_json"])
    if run_dir.is_dir() and not arguments["quiet"]:
        click.echo(f"reading {run_dir}", err=True)
    report = build_report(run_dir)
    for fault in report.faults:
        click.echo(f"warning: {fault}", err=True)
    if out == _STANDARD_OUTPUT:
        _print(report, formats[0])
        return report.exit_code
    _show(report, _write(report, run_dir, formats, out), is_json=arguments["is_json"])
    return report.exit_code


def _refuse(formats: tuple[str, ...], out: str | None, *, is_json: bool) -> None:
    """What cannot be done together, said before anything is read."""
    if out is None:
        return
    if len(formats) > 1:
        raise click.UsageError(
            f"--out names one file, and --format was given {len(formats)} times; leave one of them out"
        )
    if out == _STANDARD_OUTPUT and is_json:
        raise click.UsageError("--out - and --json both want standard output; leave one of them out")
    if out == _STANDARD_OUTPUT and formats[0] not in _TEXTS:
        raise click.UsageError(f"--out - writes text ({', '.join(_TEXTS)}); name a file for {formats[0]}")
    if out != _STANDARD_OUTPUT and Path(out).is_dir():
        raise click.UsageError(f"--out '{out}' is a folder; name a file in it")


def _print(report: Report, name: str) -> None:
    from results.report.formats import TEXT_FORMATS

    click.echo(TEXT_FORMATS[name](report).encode("utf-8", "backslashreplace"), nl=False)


def _write(report: Report, run_dir: Path, formats: tuple[str, ...], out: str | None) -> dict[str, Path]:
    from results.report.formats import write_report, write_reports

    if out is None:
        return write_reports(report, run_dir, formats)
    return {formats[0]: write_report(report, Path(out), formats[0])}


def _show(report: Report, paths: dict[str, Path], *, is_json: bool) -> None:
    if is_json:
        shown = {
            "verdict": str(report.verdict),
            "verdict_reason": report.verdict_reason,
            "partial": report.partial,
            "files": {name: str(path) for name, path in paths.items()},
            "corrupted_turns": report.evidence_total,
            "faults": list(report.faults),
            "run_dir": report.path,
        }
        click.echo(json.dumps(shown))
        return
    click.echo(f"{report.verdict.upper()}  {report.title}")
    click.echo(report.verdict_reason)
    for name, path in paths.items():
        click.echo(f"{name:<11} {path}")
