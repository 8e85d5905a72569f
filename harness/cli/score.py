"""`run.py score RUN_DIR`: judge a stored run again, with today's oracles.

Owns: what it prints. Does not own: reading and judging (`results`), server logs (`harness.live.server_logs`). The run
folder is not changed, but for what was found in a server's log. Floor 5.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from harness.cli.evidence_options import log_options
from harness.simulation import provenance
from kernels.errors import ConfigError
from results.findings import Judgement, Side, Verdict
from results.oracles.divergence import Observed
from results.oracles.drift import Drift, judge_drift
from results.reader import Run, open_run
from results.records import Measured
from results.rejudge import changed, judge_again
from results.report.alone import alone_of
from results.report.screen import screen
from results.report.witness import first_corrupted
from results.report.words import plural
from results.server_log import LogFinding, read_server_log, server_log_notes, write_server_log
from results.summary import summarise

CHANGES_SHOWN_MAX = 5
DRIFT_SEED = 0
"""Of the resampled sign patterns: the same runs give the same p."""


@click.command("score")
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    "baselines",
    type=click.Path(path_type=Path),
    multiple=True,
    help="A run of the same workload on a sound server; give two, and silent drift in length and score is looked for.",
)
@log_options
@click.option("--json", "is_json", is_flag=True, help="One JSON object on standard output.")
def score_command(
    run_dir: Path, baselines: tuple[Path, ...], server_logs: tuple[str, ...], log_zone: str | None, is_json: bool
) -> int:
    """Judge a stored run again, with today's oracles, and show it. A log of the server that was fetched afterwards is
    joined to its turns with --server-log, and what is found is kept beside the run (server_log.jsonl), for reports.

    Exit codes as of the run itself; with baselines, a clean run that drifted is 1, and one whose drift could not be
    judged is 4.
    """
    run, judgements, faults = _judged(run_dir)
    server_log = _server_log(run, server_logs, log_zone)
    drift = _drift(run, judgements, baselines) if baselines else None
    summary = summarise(
        run.manifest,
        run.turns,
        judgements,
        measured=_measured(run),
        run_dir=str(run_dir),
        partial=run.is_partial,
        faults=faults,
        server_log=server_log,
    )
    turned, sides = changed(run, judgements), _sides(judgements)
    if is_json:
        told = {"turns_judged_anew": len(turned), "sides": sides, "drift": None if drift is None else asdict(drift)}
        told["server_log"] = [asdict(one) for one in server_log]
        click.echo(json.dumps(summary.as_json() | told))
    else:
        width = None if sys.stdout.isatty() else 100
        first = first_corrupted(run.turns, judgements)
        Console(width=width, highlight=False).print(screen(summary, run.manifest, first))
        click.echo(_story(turned, sides, drift))
        for note in server_log_notes(server_log):
            click.echo(f"server log  {note}")
    return _exit_code(summary.exit_code(), drift)


def _server_log(run: Run, files: tuple[str, ...], zone: str | None) -> list[LogFinding]:
    """What is stored of the server's logs, or what these say. Effect: stores the latter, and says how they were read.

    Raises: ConfigError for what is no log or no zone; StorageProblem.
    """
    from harness.live.server_logs.attach import attached
    from harness.live.server_logs.zones import zone_offset_s

    if not files and zone is not None:
        raise ConfigError("--log-zone belongs to --server-log", key="--log-zone")
    if not files:
        return read_server_log(run.path)[0]
    offset_s = None if zone is None else zone_offset_s(zone, provenance.utc_now())
    findings, notes = attached(run, [Path(file) for file in files], offset_s=offset_s)
    for note in (*notes, f"kept in {write_server_log(run.path, findings)}"):
        click.echo(f"server log  {note}", err=True)
    return findings


def _judged(path: Path) -> tuple[Run, list[Judgement], list[str]]:
    """A run, its judgements, and what of it could not be read. Effect: says the latter."""
    run = open_run(path)
    judgements, raw_faults = judge_again(run)
    faults = [str(fault) for fault in (*run.faults, *raw_faults)]
    # What was asked again alone is judged by nobody here, so its damage makes no verdict unknown.
    for fault in (*faults, *alone_of(path)[1]):
        click.echo(f"warning: {fault}", err=True)
    return run, judgements, faults


def _drift(run: Run, judgements: Sequence[Judgement], baselines: Sequence[Path]) -> Drift:
    """Raises: ConfigError for a run that is named twice, and for a baseline that was asked something else."""
    places = [path.resolve() for path in (run.path, *baselines)]
    twice = next((path for path, place in zip(baselines, places[1:], strict=True) if places.count(place) > 1), None)
    if twice is not None:
        what = f"'{twice}' is named twice: a run that is compared with itself shows no noise, and no drift"
        raise ConfigError(what, key="--baseline", value=str(twice))
    asked = {turn.key: turn.expected for turn in run.turns}
    observed = []
    for path in baselines:
        other, other_judgements, _ = _judged(path)
        for turn in other.turns:
            if asked.get(turn.key, turn.expected) != turn.expected:
                where = f"session {turn.session} turn {turn.turn} was asked for another call"
                raise ConfigError(f"'{path}' is a run of another workload: {where}", key="--baseline", value=str(path))
        observed.append(list(map(Observed, other.turns, other_judgements)))
    rng = np.random.default_rng(DRIFT_SEED)
    return judge_drift(list(map(Observed, run.turns, judgements)), observed, rng)


def _exit_code(of_run: int, drift: Drift | None) -> int:
    if of_run or drift is None:
        return of_run
    return {Verdict.VIOLATED: 1, Verdict.UNKNOWN: 4}.get(drift.verdict, 0)


def _measured(run: Run) -> Measured:
    """A run that was never closed has no measurements; its turns are all there is."""
    return run.manifest.measured or Measured(turn_count=len(run.turns), wall_s=0.0, trace_digest="", counters={})


def _sides(judgements: Sequence[Judgement]) -> dict[str, int]:
    """Corrupted turns by who is to blame, as far as their raw text shows it."""
    counts = Counter(str(judgement.blame.side) for judgement in judgements if judgement.blame is not None)
    return {str(side): counts[str(side)] for side in Side if counts[str(side)]}


def _story(turned: Sequence[tuple[Judgement, Judgement]], sides: Mapping[str, int], drift: Drift | None) -> str:
    """Parser or engine, and what today's oracles see otherwise than those of the run's own day."""
    lines = []
    if sides:
        counted = ", ".join(f"{side} {count}" for side, count in sides.items())
        lines.append(f"to blame    {counted} (corrupted turns)")
    come, they = ("comes", "it was") if len(turned) == 1 else ("come", "they were")
    lines.append(f"judged anew {plural(len(turned), 'turn')} {come} out otherwise than when {they} stored")
    for then, now in turned[:CHANGES_SHOWN_MAX]:
        was, is_now = then.kind or then.verdict, now.kind or now.verdict
        lines.append(f"            session {now.session} turn {now.turn}: {was} is now {is_now}")
    if drift is not None:
        word = {Verdict.VIOLATED: "found: ", Verdict.UNKNOWN: "unknown: "}.get(drift.verdict, "none")
        over = f" ({drift.sessions} sessions in all three runs)" if drift.sessions else ""
        lines.append(f"drift       {word}{drift.reason}{over}")
    return "\n".join(lines)
