"""Run the fuzzers: each target in a process of its own, by coverage of harness/transport and the oracles' reader.

Owns: processes, budgets, the table. Does not own: properties (`targets.py`), first inputs (`seeds.py`). atheris is not
among the project's dependencies: `make fuzz` puts it into .venvs/fuzz. An input that breaks a property is kept under
--corpus and shown; it becomes a test in tests/harness/fuzz.

    make fuzz [ARGS="--seconds 60 --target sse"]
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.page import Figures, refill, store

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "benchmarks" / "results" / "planted.json"
PAGE = ROOT / "docs" / "planted.md"
INPUT_BYTES_MAX = 2048
_COVERAGE = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
_STATISTIC = re.compile(r"stat::(\w+):\s+(\d+)")
_NAMES = ("sse", "reply", "valid", "body", "turn", "http", "http_valid", "calls", "odd")
_INSTRUMENTED = ("harness.transport", "results.oracles.reply", "results.oracles.raw_reply", "results.oracles.text_call")


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What one target came to. edges: instrumented branches that were reached; broken: whether a property was."""

    target: str
    executed: int
    per_second: int
    edges: int
    corpus: int
    peak_mb: int
    broken: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--target", choices=_NAMES, action="append", help="[default: all]")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, default=None, help="keep what is found here  [default: thrown away]")
    parser.add_argument("--store", action="store_true", help="put the table into docs/planted.md")
    parser.add_argument("--child", nargs=2, metavar=("TARGET", "FOLDER"), help=argparse.SUPPRESS)
    given, rest = parser.parse_known_args()
    if given.child:
        return _child(given.child[0], rest)
    with nullcontext(given.corpus) if given.corpus else tempfile.TemporaryDirectory() as folder:
        found = [_fuzz(name, Path(folder), given.seconds, given.seed) for name in given.target or _NAMES]
    if given.store:
        known = store(FIGURES, {"fuzz": _table(found, given.seconds, given.seed)})
        refill(PAGE, known)
    return int(any(one.broken for one in found))


def _fuzz(name: str, folder: Path, seconds: int, seed: int) -> Fuzzed:
    from benchmarks.fuzz.seeds import first_inputs, write_words

    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(first_inputs(name)):
        (corpus / f"first-{number}").write_bytes(data)
    words = folder / "words.txt"
    write_words(words)
    options = [
        f"-max_total_time={seconds}", f"-max_len={INPUT_BYTES_MAX}", "-timeout=10", "-rss_limit_mb=1024",
        f"-seed={seed}", f"-dict={words}", "-print_final_stats=1", f"-artifact_prefix={folder}/{name}-",
    ]  # fmt: skip
    command = [sys.executable, "-m", "benchmarks.fuzz", "--child", name, str(corpus), str(corpus), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    told = dict(_STATISTIC.findall(done.stderr))
    if "number_of_executed_units" not in told:
        print(done.stderr[-3000:], file=sys.stderr)
        raise SystemExit(f"the fuzzer of {name} did not run (exit status {done.returncode})")
    reached = _COVERAGE.findall(done.stderr)[-1]
    one = Fuzzed(
        name, int(told["number_of_executed_units"]), int(told["average_exec_per_sec"]), int(reached[0]),
        int(reached[2]), int(told["peak_rss_mb"]), done.returncode != 0,
    )  # fmt: skip
    end = "BROKEN" if one.broken else "held"
    print(f"{name:<11} {one.executed:>12,} inputs {one.per_second:>7,}/s {one.edges:>6} branches "
          f"{one.corpus:>5} in corpus {one.peak_mb:>5} MB  {end}", flush=True)  # fmt: skip
    if one.broken:
        print(done.stderr[-3000:], file=sys.stderr)
    return one


def _child(name: str, arguments: list[str]) -> int:
    # By name: it is installed for this alone.
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=list(_INSTRUMENTED)):
        from benchmarks.fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *arguments], TARGETS[name])
    atheris.Fuzz()
    return 0


def _table(found: list[Fuzzed], seconds: int, seed: int) -> Figures:
    rows = tuple(
        (one.target, f"{one.executed:,}", f"{one.per_second:,}", one.edges, one.corpus, one.peak_mb,
         "broken" if one.broken else "held")
        for one in found
    )  # fmt: skip
    total = sum(one.executed for one in found)
    measured = (
        f"{total:,} inputs in all; {seconds} s a target, inputs of up to {INPUT_BYTES_MAX} bytes, at most 10 s and "
        f"1 GB each, seed {seed}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
    )
    columns = ("target", "inputs", "a second", "branches reached", "corpus", "peak MB", "properties")
    return Figures(columns, rows, measured)


if __name__ == "__main__":
    sys.exit(main())
