"""Everything about planted faults, into benchmarks/results/planted.json and docs/planted.md.

Owns: which parts there are and their sizes. Does not own: the parts.

    python -m benchmarks.planted [--only PART] [--repeats 200] [--turns 100000] [--seed 6000]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.page import Figures, refill, store
from benchmarks.planted.coverage import coverage
from benchmarks.planted.detection import detection, quiet_faults
from benchmarks.planted.in_process import Lane
from benchmarks.planted.over_sockets import clean_over_sockets, detection_over_sockets
from harness.planting.faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "benchmarks" / "results" / "planted.json"
PAGE = ROOT / "docs" / "planted.md"
SMALL, LARGE = 60, 300
PROXY_TURNS = 20_000
QUIET_REPEATS = 50
_TIMED = frozenset({"clean", "proxy"})

Tables = Mapping[str, Figures]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=6_000)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--turns", type=int, default=100_000, help="sound turns over sockets, at least")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where the figures go; the page only from there")
    given = parser.parse_args()
    for name, part in PARTS.items():
        if given.only not in (None, name):
            continue
        began_s = time.perf_counter()
        tables = part(given)
        if name in _TIMED:
            load = f" Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores."
            tables = {key: replace(one, measured=one.measured + load) for key, one in tables.items()}
        known = store(given.figures, tables)
        if given.figures == FIGURES and PAGE.exists():
            refill(PAGE, known)
        print(f"{name:<10} {time.perf_counter() - began_s:6.1f} s", flush=True)
    return 0


def _detection(given: argparse.Namespace) -> Tables:
    by_rate, called = detection(Lane(SMALL, given.seed), given.repeats, given.seed)
    return {"detection": by_rate, "called": called}


def _quiet(given: argparse.Namespace) -> Tables:
    return {"quiet": quiet_faults(Lane(SMALL, given.seed), min(QUIET_REPEATS, given.repeats), given.seed)}


def _coverage(given: argparse.Namespace) -> Tables:
    lanes = [Lane(SMALL, given.seed), Lane(LARGE, given.seed)]
    return {"coverage": coverage(lanes, given.repeats, given.seed)}


def _sockets(given: argparse.Namespace) -> Tables:
    faults = [fault for fault in FAULTS.values() if fault.kinds]
    return {"sockets": detection_over_sockets(given.seed, faults)}


def _clean(given: argparse.Namespace) -> Tables:
    return {"clean": clean_over_sockets(given.turns, LARGE, given.seed, is_through_proxy=False)}


def _proxy(given: argparse.Namespace) -> Tables:
    turns = min(PROXY_TURNS, given.turns)
    return {"proxy": clean_over_sockets(turns, SMALL, given.seed, is_through_proxy=True)}


PARTS: Mapping[str, Callable[[argparse.Namespace], Tables]] = {
    "detection": _detection,
    "quiet": _quiet,
    "coverage": _coverage,
    "sockets": _sockets,
    "clean": _clean,
    "proxy": _proxy,
}

if __name__ == "__main__":
    sys.exit(main())
