"""Coverage and false-alarm rate of every procedure in results/stats, by simulation, into docs/statistics.md.

Owns: the list of studies, the JSON under benchmarks/results, the blocks of the document. Does not own: the studies
(`coverage_*`). Each study has a generator of its own from the seed, so one can be repeated without the others.

    python -m benchmarks.statistics_coverage [--seed 20] [--only NAME] [--scale 1.0]
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.coverage_blocks import block_lengths
from benchmarks.coverage_curves import slopes, survival_errors
from benchmarks.coverage_intervals import interval_coverage, zero_claims
from benchmarks.coverage_scenes import Table
from benchmarks.coverage_sequential import rate_looks, seed_looks, sprt_errors, until_decided
from benchmarks.coverage_two_arms import boschloo_size, family_errors, two_arm_tests

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "statistics.json"
PAGE = ROOT / "docs" / "statistics.md"
SEED = 20

Study = Callable[[np.random.Generator, int], Table]
STUDIES: dict[str, tuple[Study, int]] = {
    "zero": (zero_claims, 20_000),
    "sprt": (sprt_errors, 5_000),
    "seed-looks": (seed_looks, 500),
    "rate-looks": (rate_looks, 1_000),
    "holm": (family_errors, 5_000),
    "survival": (survival_errors, 2_000),
    "intervals": (interval_coverage, 1_000),
    "slopes": (slopes, 300),
    "until-decided": (until_decided, 200),
    "two-arms": (two_arm_tests, 500),
    "blocks": (block_lengths, 500),
}
EXACT: dict[str, Callable[[], Table]] = {f"boschloo-{units}": partial(boschloo_size, units) for units in (20, 60)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", choices=(*STUDIES, *EXACT))
    parser.add_argument("--scale", type=float, default=1.0, help="times the number of simulated runs")
    arguments = parser.parse_args()
    for name in (*STUDIES, *EXACT):
        if arguments.only not in (None, name):
            continue
        began_s = time.perf_counter()
        table = _table(name, arguments.seed, arguments.scale)
        print(f"{name:<14} {time.perf_counter() - began_s:6.1f} s", flush=True)
        _store(name, {**asdict(table), "seed": arguments.seed})
    return 0


def _store(name: str, table: dict[str, object]) -> None:
    """Into the JSON and the page; read again each time, so that two studies may run side by side."""
    stored = json.loads(RESULTS.read_text())["tables"] if RESULTS.exists() else {}
    stored[name] = table
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps({"tables": dict(sorted(stored.items()))}, indent=1) + "\n")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), stored), encoding="utf-8")


def _table(name: str, seed: int, scale: float) -> Table:
    if name in EXACT:
        return EXACT[name]()
    study, repeats = STUDIES[name]
    order = tuple(STUDIES).index(name)
    return study(np.random.default_rng([seed, order]), max(1, round(repeats * scale)))


def filled(page: str, tables: dict[str, dict[str, object]]) -> str:
    """The page with every `<!-- table: NAME -->` block made again from the stored tables; others stay as they are."""
    block = re.compile(r"(<!-- table: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

    def made(match: re.Match[str]) -> str:
        table = tables.get(match["name"])
        return match[0] if table is None else f"{match[1]}{_markdown(table)}{match[3]}"

    return block.sub(made, page)


def _markdown(table: dict[str, object]) -> str:
    columns, rows, repeats = table["columns"], table["rows"], table["repeats"]
    assert isinstance(columns, list | tuple)
    assert isinstance(rows, list | tuple)
    lines = [columns, ["---:"] * len(columns), *rows]
    text = "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    made = f"seed {table['seed']}, {repeats:,} runs a row" if repeats else "exact, no sampling"
    return f"\n{text}\n({made})\n\n"


if __name__ == "__main__":
    sys.exit(main())
