"""`run.py bundle RUN_DIR`: one corrupted turn as a script that a maintainer can run.

Owns: its options and what it prints. Does not own: the bundle (`harness.bundle`). Floor 5.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from harness.bundle.making import Bundle

_HELP = """Write one Python script (standard library only) that sends the requests around a corrupted turn again, at the
same concurrency, and checks the replies: for the maintainers of the server, who need nothing else. Beside it lies an
evidence file: versions, commands, seeds, counters, verdict.

RUN_DIR is the folder of a simulation, of `stress`, or of a matrix or arms, of which the first run with a corrupted turn
is taken. Messages are made again from the run's workload and seed, and checked against what the folder knows of them.

Exit codes: 0 written, 2 your mistake (also: nothing is corrupted), 3 the files cannot be written."""


@click.command("bundle", help=_HELP)
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option("--turn", "turn", default=None, metavar="SESSION:TURN", help="[default: the first corrupted one]")
@click.option("--out", default=None, type=click.Path(path_type=Path), metavar="FILE",
              help="The script.  [default: repro_....py in RUN_DIR]")  # fmt: skip
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1, 10_000), help="How often it sends them.")
@click.option("--size-max", default=2_000, show_default=True, type=click.IntRange(min=30), metavar="KB",
              help="Of the script: sessions are left out, the least important first, until it fits.")  # fmt: skip
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output, nothing else there.")
def bundle_command(run_dir: Path, turn: str | None, out: Path | None, rounds: int, size_max: int, is_json: bool) -> int:
    from harness.bundle.choosing import turn_key
    from harness.bundle.making import BundleRequest, make_bundle

    if out is not None and out.is_dir():
        raise click.UsageError(f"--out '{out}' is a folder; name a file in it")
    key = None if turn is None else turn_key(turn)
    bundle = make_bundle(BundleRequest(run_dir, key, out, rounds, size_max * 1_000))
    if bundle.evidence.script.size_bytes > size_max * 1_000:
        click.echo(f"note: the reported session alone needs more than --size-max {size_max}", err=True)
    _show(bundle, is_json=is_json)
    return 0


def _show(bundle: Bundle, *, is_json: bool) -> None:
    from results.report.words import plural

    script, turn = bundle.evidence.script, bundle.evidence.turn
    report = shlex.join(["python", "run.py", "report", str(bundle.run_dir), "--format", "md"])
    if is_json:
        fields = {
            "script": str(bundle.script), "evidence": str(bundle.evidence_file), "run_dir": str(bundle.run_dir),
            "session": turn["session"], "turn": turn["turn"], "kind": turn["kind"], "sha256": script.sha256,
            "size_bytes": script.size_bytes, "sessions": script.sessions, "turns": script.turns,
            "sessions_left_out": script.sessions_left_out, "rounds": script.rounds, "checked": script.checked,
            "command": script.command, "report": report,
        }  # fmt: skip
        click.echo(json.dumps(fields))
        return
    kind = (turn["kind"] or "not corrupted").replace("_", " ")
    if turn["kind"] is None and turn["said_alone"] is not None:
        kind = f"corrupt by the serial check ({turn['said_alone']})"
    left = f", {script.sessions_left_out} left out for their size" if script.sessions_left_out else ""
    rows = [
        ("script", f"{bundle.script} ({script.size_bytes / 1e3:,.0f} kB)"),
        ("evidence", str(bundle.evidence_file)),
        (
            "load",
            f"{plural(script.sessions, 'session')}, {plural(script.turns, 'request')}, {script.rounds} rounds{left}",
        ),
        ("checked", script.checked),
        ("try it", script.command),
        ("issue", report),
        ("", "writes its text, to which script and evidence are attached"),
    ]
    click.echo(f"BUNDLED  session {turn['session']} turn {turn['turn']}: {kind}")
    click.echo("\n".join(f"{label:<9}{text}" for label, text in rows))
