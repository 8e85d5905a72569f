"""False alarms: races that the detector reports in programs whose order is right. There must be none.

Owns: the counts, benchmarks/results/races/false_alarms.json and its table. Does not own: the arms (`arms.py`), the runs
(`small_alarms.py`, `served_alarms.py`). Two parts, which can be asked for one by one:

    python -m benchmarks.races.false_alarms --small 1000            small programs: a seed draws shape and order
    python -m benchmarks.races.false_alarms --seeds 20              served runs with 60 sessions: hours of CPU time

Served runs are kept one by one in served_runs.jsonl, and a second call goes on where the first one ended, as long as
the sources are the same. Exit code 1 where there is a false alarm or the control, which is broken, is not reported; 4
where nothing was loaded back, because then nothing could have raced, or where runs are missing; 130 where that is
because it was interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict

from benchmarks.page import Figures
from benchmarks.races.arms import CONTROL, arms
from benchmarks.races.catalogue import cases
from benchmarks.races.served_alarms import Job, ServedRun, revision, runs_of, serve_all
from benchmarks.races.small_alarms import SmallRuns, arm_runs, program_runs
from benchmarks.races.stored import machine, path_of, save, table

SEED = 22_811
CONTROL_SEEDS = 3
INTERRUPTED = 130
RUNS = path_of("served_runs").with_suffix(".jsonl")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", type=int, default=0, metavar="N", help="seeds of the small programs")
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="seeds of served runs")
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--revision", metavar="HEX", help="only tell what is kept of runs with these sources")
    given = parser.parse_args()
    if min(given.small, given.seeds) < 0 or not given.small + given.seeds:
        parser.error("give --small N or --seeds N or both, with N from 1 on")
    if min(given.sessions, given.workers) < 1:
        parser.error("--sessions and --workers must be 1 or more")
    command = " ".join(["python -m benchmarks.races.false_alarms", *sys.argv[1:]])
    statuses = [small(range(given.first_seed, given.first_seed + given.small), command)] if given.small else []
    statuses += [served(given, command)] if given.seeds else []
    return 1 if 1 in statuses else max(statuses)


# Small programs.


def small(seeds: range, command: str) -> int:
    load_before = os.getloadavg()[0]
    print(f"small programs: seeds {seeds[0]} to {seeds[-1]}")
    cache = [_said(arm_runs(arm, seeds)) for arm in arms()]
    ordered = [_said(program_runs(f"{case.name}, ordered", case.ordered, seeds)) for case in cases()]
    broken = [_said(program_runs(f"{case.name}, broken", case.broken, seeds)) for case in cases()]
    control = next(one for one in cache if one.name == CONTROL)
    runs = [*cache, *ordered, *broken]
    save("small_alarms", {**machine(command, load_before), "runs": [asdict(one) for one in runs]})
    measured = f"Seeds {seeds[0]} to {seeds[-1]}. `{command}`"
    rows = tuple(
        (one.name, f"{one.seeds:,}", f"{one.loads:,}", f"{len(one.racing):,}", len(one.failing)) for one in cache
    )
    twins = tuple(
        (case.name, len(right.racing), len(right.failing), f"{len(wrong.racing):,}", f"{len(wrong.failing):,}")
        for case, right, wrong in zip(cases(), ordered, broken, strict=True)
    )
    of_twins = ("program", "ordered: racing", "failing", "broken: racing", "failing")
    small_columns = ("arm", "seeds", "with a load", "racing", "failing")
    table({"small-alarms": Figures(small_columns, rows, measured), "small-twins": Figures(of_twins, twins, measured)})
    alarms = [one.name for one in (*cache, *ordered) if one is not control and (one.racing or one.failing)]
    return _status(alarms, control.loads, len(control.racing))


def _said(runs: SmallRuns) -> SmallRuns:
    print(
        f"{runs.name:<32}{len(runs.racing):>6,} racing{len(runs.failing):>6,} failing of {runs.seeds:,}"
        f"{runs.loads:>7,} with a load",
        flush=True,
    )
    return runs


# Served runs.


def served(given: argparse.Namespace, command: str) -> int:
    load_before = os.getloadavg()[0]
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    # Seed by seed: whoever ends this early has the same seeds of every arm. The control needs a few runs only.
    asked = [(arm, seed) for seed in seeds for arm in arms() if arm.is_right or seed < seeds[0] + CONTROL_SEEDS]
    jobs = [Job(arm, seed, given.sessions) for arm, seed in asked]
    print(f"{given.sessions} sessions, seeds {seeds[0]} to {seeds[-1]}: {len(jobs)} runs")
    revised = given.revision or revision()
    is_interrupted = False
    try:
        if given.revision is None:
            serve_all(jobs, RUNS, given.workers, revised, _note)
    except KeyboardInterrupt:
        is_interrupted = True
        print("interrupted: what is over is kept, and the same command goes on from there")
    runs = runs_of(jobs, RUNS, revised)
    by_arm = {arm.name: [run for run in runs if run.arm == arm.name] for arm in arms()}
    save("false_alarms", {**machine(command, load_before), "revision": revised, "runs": [asdict(run) for run in runs]})
    rows = tuple(_row(name, own) for name, own in by_arm.items() if own)
    columns = ("arm", "runs", "with a load", "load-backs", "trace rows", "runs with a race", "unordered pairs")
    done = f"{len(runs)} of {len(jobs)} runs, {given.sessions} sessions, seeds from {seeds[0]}"
    print(done)
    table({"served-alarms": Figures(columns, rows, f"{done}. `{command}`")})
    alarms = [run.arm for run in runs if run.arm != CONTROL and (run.pairs or run.problems)]
    control = [run for run in runs if run.arm == CONTROL and run.loads]
    status = _status(alarms, len(control), sum(run.pairs > 0 for run in control))
    if status == 0 and len(runs) < len(jobs):
        return INTERRUPTED if is_interrupted else 4
    return status


def _note(run: ServedRun) -> None:
    """A line for each run as it ends: these take long."""
    what = f"{run.pairs} unordered pairs" if run.pairs else "no race"
    print(f"{run.arm:<32}seed {run.seed}  {run.rows:>9,} rows {run.loads:>5} loads  {what}  {run.cpu_s} s", flush=True)


def _row(name: str, runs: Sequence[ServedRun]) -> tuple[str | int, ...]:
    loads = sum(run.loads for run in runs)
    rows = sum(run.rows for run in runs)
    exercised = sum(run.loads > 0 for run in runs)
    racing = sum(run.pairs > 0 for run in runs)
    return name, len(runs), exercised, f"{loads:,}", f"{rows:,}", racing, f"{sum(run.pairs for run in runs):,}"


def _status(alarms: Sequence[str], exercised: int, reported: int) -> int:
    """alarms: arms with a false one. exercised, reported: runs of the control that loaded back, and with a race."""
    for name in dict.fromkeys(alarms):
        print(f"FALSE ALARM in {name}")
    if not alarms:
        print("no false alarm")
    print(f"control: {reported} of {exercised} runs that loaded back are reported")
    if alarms or reported < exercised:
        return 1
    return 0 if exercised else 4


if __name__ == "__main__":
    sys.exit(main())
