"""False alarms, recall, confusion and speed of the oracles, over a seeded corpus, into docs/oracles.md.

Owns: which parts there are and their sizes. Does not own: corpus, counting, tables. The seed is one that was not looked
at while the oracles were written: seeds below 4000 are for that.

    python -m benchmarks.oracles [--seed 4000] [--clean 100000] [--planted 500] [--bfcl DIR] [--only PART]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpus.calls import PoolCall, bfcl_calls
from benchmarks.corpus.case import Batch
from benchmarks.corpus.clean import clean_batches
from benchmarks.corpus.planted import planted_batches
from benchmarks.drift import drift_table
from benchmarks.oracle_tables import (
    blame_table,
    clean_table,
    confusion_table,
    recall_table,
    speed_table,
    strength_table,
)
from benchmarks.page import Figures, refill, store
from benchmarks.scoring import Counts, context_of, score
from results.findings import Kind
from results.oracles.context import judge_context
from results.oracles.judge import judge_turn, judge_turns
from results.reader import open_run
from results.rejudge import context_of_run
from results.stats.intervals import clopper_pearson

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks" / "results" / "oracles.json"
PAGE = ROOT / "docs" / "oracles.md"
BFCL_VARIABLE = "KVRACE_BFCL"
SPEED_TURNS = 5_000
SPEED_REPEATS = 5
SALAD = ("--scenario", "hicache_bf16", "--sessions", "60", "--delay", "h2d.index_k=constant:500us", "--quiet")
DRIFT_RUNS = 200
PARTS = ("clean", "planted", "salad", "drift", "speed")


def main() -> int:
    arguments = _arguments()
    bfcl = _bfcl(arguments.bfcl)
    tables: dict[str, Figures] = {}
    status = 0
    if arguments.only in (None, "clean"):
        counts = score(clean_batches(arguments.seed, arguments.clean, bfcl))
        tables["clean"] = clean_table(counts, f"Seed {arguments.seed}.")
        status |= _say_examples(counts)
    if arguments.only in (None, "planted"):
        counts = score(planted_batches(arguments.seed, arguments.planted))
        made = f"Seed {arguments.seed}; intervals are Clopper and Pearson's."
        tables |= {"recall": recall_table(counts, made), "confusion": confusion_table(counts, made)}
        tables["salad-strengths"] = strength_table(counts, Kind.TOKEN_SALAD, made)
        tables["blame"] = blame_table(counts, made)
    if arguments.only in (None, "salad"):
        tables["salad"] = _simulated_salad(range(arguments.seed, arguments.seed + arguments.salad_seeds))
    if arguments.only in (None, "drift"):
        tables["drift"] = drift_table(arguments.seed, DRIFT_RUNS)
    if arguments.only in (None, "speed"):
        tables["speed"] = _speed(arguments.seed, bfcl)
    known = store(FIGURES, tables)
    if PAGE.exists():
        refill(PAGE, known)
    return status


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=4_000)
    parser.add_argument("--clean", type=int, default=100_000, help="at least so many sound replies")
    parser.add_argument("--planted", type=int, default=500, help="damaged replies a class")
    parser.add_argument("--salad-seeds", type=int, default=5, help="simulator runs that real salad is taken from")
    parser.add_argument(
        "--bfcl", type=Path, help=f"BFCL's folder; else ${BFCL_VARIABLE}; without it that part is left out"
    )
    parser.add_argument("--only", choices=PARTS)
    return parser.parse_args()


def _bfcl(given: Path | None) -> tuple[PoolCall, ...]:
    folder = given or (Path(os.environ[BFCL_VARIABLE]) if BFCL_VARIABLE in os.environ else None)
    if folder is None:
        print(
            f"BFCL's possible answers are left out: name their folder with --bfcl or ${BFCL_VARIABLE}", file=sys.stderr
        )
        return ()
    calls = bfcl_calls(folder)
    print(f"{len(calls):,} possible answers of BFCL", file=sys.stderr)
    return calls


def _say_examples(counts: Counts) -> int:
    for case, judgement in counts.examples:
        print(f"FALSE ALARM ({case.family}): {judgement.findings}\n  {case.turn}")
    print(f"{sum(counts.alarms.values())} false alarms in {counts.sound:,} sound replies")
    return int(bool(counts.alarms))


def _simulated_salad(seeds: Sequence[int]) -> Figures:
    """Turns that the machine itself says read stale bytes and came out wrong, judged as a live server's: with the
    planted call known, and without the knowledge that the model can say nothing else."""
    corrupted = found = 0
    kinds: Counter[str] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "run.py", *SALAD, "--seed", str(seed), "--json", "--out", folder]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            if done.returncode not in (0, 1):
                raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr[-500:]}")
            (path,) = Path(folder).iterdir()
            run = open_run(path)
        as_live = judge_context(tools=run.tools, sessions=run.sessions, max_tokens=run.manifest.max_tokens)
        exact = judge_turns(run.turns, context_of_run(run))
        for turn, truth in zip(run.turns, exact, strict=True):
            if truth.is_corrupted:
                judgement = judge_turn(turn, as_live)
                corrupted += 1
                found += judgement.is_corrupted
                kinds[str(judgement.kind)] += 1
    recall = clopper_pearson(found, corrupted)
    rows = tuple((kind.replace("_", " "), count) for kind, count in kinds.most_common())
    measured = (
        f"{found} of {corrupted} corrupted turns of {len(seeds)} runs found ({100 * recall.low:.1f}-"
        f"{100 * recall.high:.1f} %), seeds {seeds[0]}-{seeds[-1]}: `python run.py {' '.join(SALAD)} --seed N`."
    )
    return Figures(("called", "turns"), rows, measured)


def _speed(seed: int, bfcl: Sequence[PoolCall]) -> Figures:
    clean = list(clean_batches(seed, SPEED_TURNS, bfcl))
    damaged = list(planted_batches(seed, SPEED_TURNS // 16))
    rates = [
        ("sound, mixed families", *_rate(clean)),
        ("damaged, one in sixteen of each class, with raw text", *_rate(damaged)),
    ]
    return speed_table(rates, f"All oracles on; CPU time, the fastest of {SPEED_REPEATS} passes. Seed {seed}.")


def _rate(batches: Sequence[Batch]) -> tuple[int, float]:
    """(turns, turns a second). Contexts are made once a run, and are not in it."""
    work = [(context_of(batch), [case.turn for case in batch.cases]) for batch in batches]
    turns = sum(len(of_batch) for _, of_batch in work)
    fastest_s = float("inf")
    for _ in range(SPEED_REPEATS):
        began_s = time.process_time()
        for context, of_batch in work:
            judge_turns(of_batch, context)
        fastest_s = min(fastest_s, time.process_time() - began_s)
    return turns, turns / fastest_s


if __name__ == "__main__":
    sys.exit(main())
