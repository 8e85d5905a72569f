"""Schedules a second: ours beside `frontrun` on the same programs, and beside a bare generator scheduler.

Owns: the measuring, benchmarks/results/races/peer_speed.json and its tables. Does not own: the peer's side
(`frontrun_child.py`), any threshold. `frontrun` lives in an environment of its own:

    python3 -m venv PEER && PEER/bin/pip install frontrun==0.7.0
    python -m benchmarks.races.peer_speed --frontrun PEER/bin/python

Rounds of ours and of the peer alternate in one run, and each ratio is that of neighbours in time. Seconds are CPU
seconds, all threads together: other work on the machine takes none of them, while it does stretch the wall clock, which
is told too. Ours counts everything that a search pays for a schedule, without the first one.
Without --frontrun only ours is measured, and nothing is kept; exit code 3 says that the peer is not there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.page import Figures
from benchmarks.races import transfers
from benchmarks.races.gap import LAYERS, gap_table, where_time_goes
from benchmarks.races.stored import ROOT, machine, save, table
from benchmarks.races.threads import lost_update
from benchmarks.races.transfers import page_of, pool
from kernels.races.scheduler.execution import Execution
from kernels.races.scheduler.plan import Plan
from kernels.races.scheduler.program import Program
from kernels.races.search.exhaustive import Exhaustive
from kernels.races.search.replay import settled
from kernels.races.strategies.random_walk import RandomWalk
from kernels.substrate.contract import Machine, Write

TARGET_RATIO = 100
SEED = 22_811
RANDOM, ALL_ORDERS = "random", "dpor"
SCHEDULES = {RANDOM: 3_000, ALL_ORDERS: 300}
PEER_SCHEDULES = {RANDOM: 150, ALL_ORDERS: 150}
NO_PEER = 3
HOW_TO = (
    "frontrun is not there: give --frontrun the Python of an environment that has it "
    "(python3 -m venv PEER && PEER/bin/pip install frontrun==0.7.0, then --frontrun PEER/bin/python)"
)


@dataclass(frozen=True, slots=True)
class Speed:
    """Schedules a second, by CPU time and by wall clock, one figure a round. failing: share of all schedules."""

    schedules: int
    failing: float
    by_cpu: tuple[float, ...]
    by_wall: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Over the rounds. Each compares neighbours in time, so that a busy machine slows both."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ours: Sequence[float], peer: Sequence[float]) -> Ratio:
        each = [one / other for one, other in zip(ours, peer, strict=True)]
        return cls(statistics.median(each), min(each), max(each))

    def __str__(self) -> str:
        return f"{self.median:,.0f} ({self.low:,.0f} to {self.high:,.0f})"


@dataclass(frozen=True, slots=True)
class Pair:
    """One program, one kind of search: ours and the peer's."""

    program: str
    search: str
    ours: Speed
    peer: Speed | None

    @property
    def by_cpu(self) -> Ratio | None:
        """How many times as fast ours is, round by round."""
        return Ratio.of(self.ours.by_cpu, self.peer.by_cpu) if self.peer is not None else None

    @property
    def by_wall(self) -> Ratio | None:
        return Ratio.of(self.ours.by_wall, self.peer.by_wall) if self.peer is not None else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frontrun", type=Path, metavar="PYTHON", help="interpreter of an environment that has it")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    if given.rounds < 1:
        parser.error("--rounds must be 1 or more")
    version = peer_version(given.frontrun)
    if version is None:
        print(HOW_TO, file=sys.stderr)
        if given.frontrun is not None:
            return NO_PEER
    load_before = os.getloadavg()[0]
    print(f"seed {given.seed}, {given.rounds} rounds; frontrun {version or 'not measured'}")
    pairs = [compared(name, search, given, version) for name in OURS for search in (RANDOM, ALL_ORDERS)]
    for pair in pairs:
        print(line(pair))
    gap = where_time_goes(settled(Plan(OURS["20 copies, a reader"][1])), given.seed, given.rounds)
    print(f"20 copies, a reader: ours {gap.ours_us:.1f} us a schedule, bare {gap.bare_us:.1f} us")
    if version is None:
        return NO_PEER
    command = f"python -m benchmarks.races.peer_speed --frontrun PEER/bin/python --rounds {given.rounds}"
    report = {**machine(command, load_before), "frontrun": version, "seed": given.seed, "rounds": given.rounds}
    figures = [{**asdict(pair), "ratio": str(pair.by_cpu), "wall_ratio": str(pair.by_wall)} for pair in pairs]
    save("peer_speed", {**report, "target_ratio": TARGET_RATIO, "pairs": figures, "gap": asdict(gap)})
    table({"peer-speed": peer_table(pairs, version, command), "scheduler-gap": gap_table(gap, command)})
    return 0


def peer_version(python: Path | None) -> str | None:
    """The version of frontrun in that environment; None where it is not there."""
    if python is None:
        return None
    ask = "import importlib.metadata; print(importlib.metadata.version('frontrun'))"
    try:
        return subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


# Ours.


def increments(machine: Machine) -> None:
    """The lost update without host threads: two streams, each with a kernel that reads the counter and writes it."""
    counter = page_of(pool(machine, "counter"))
    for index in range(2):
        write = Write(counter, np.array([1 + index], dtype=np.int64))
        stream = machine.stream(f"worker{index}", device=0)
        stream.launch("add one", duration_ns=10, read_ns=10, point="compute", reads=(counter,), writes=(write,))


OURS: dict[str, tuple[str, Program]] = {
    "lost update, two host threads": ("lost update", lost_update(is_ordered=False)),
    "lost update, two streams": ("lost update", increments),
    "4 copies, a reader": ("4 copies, a reader", transfers.copies_and_reader(is_ordered=False, layers=4)),
    "20 copies, a reader": ("20 copies, a reader", transfers.copies_and_reader(is_ordered=False, layers=LAYERS)),
}
"""Our name -> the peer's program and ours."""


def compared(name: str, search: str, given: argparse.Namespace, version: str | None) -> Pair:
    """Rounds of the one and of the other, by turns."""
    peer_program, program = OURS[name]
    ours: list[Mapping[str, float]] = []
    peer: list[Mapping[str, float]] = []
    plan = settled(Plan(program))
    for index in range(given.rounds):
        ours.append(our_round(plan, search, given.seed + index))
        if version is not None:
            peer.append(peer_round(given.frontrun, peer_program, search, given.seed + index))
    print(f"  {name}: {search} done", file=sys.stderr)
    return Pair(name, search, speed(ours), speed(peer) if peer else None)


def our_round(plan: Plan, search: str, seed: int) -> Mapping[str, float]:
    done, failures, count = 0, 0, SCHEDULES[search]
    walk = RandomWalk(seed)
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    while done < count:
        if search == RANDOM:
            failures += Execution(plan).run(walk).has_failed
            done += 1
            continue
        # A program with few orders is explored again.
        for outcome in islice(Exhaustive(plan).outcomes(), count - done):
            failures += outcome.has_failed
            done += 1
    wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    return {"schedules": done, "failures": failures, "wall_s": wall_s, "cpu_s": cpu_s}


def peer_round(python: Path, program: str, search: str, seed: int) -> Mapping[str, float]:
    child = Path(__file__).with_name("frontrun_child.py")
    arguments = [python, "-m", "frontrun.cli", python, child, program, search, str(PEER_SCHEDULES[search]), str(seed)]
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"frontrun failed on {program}: {done.stderr.strip().splitlines()[-1]}")
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def speed(rounds: Sequence[Mapping[str, float]]) -> Speed:
    schedules = sum(int(one["schedules"]) for one in rounds)
    return Speed(
        schedules,
        sum(one["failures"] for one in rounds) / schedules,
        tuple(one["schedules"] / one["cpu_s"] for one in rounds),
        tuple(one["schedules"] / one["wall_s"] for one in rounds),
    )


# Tables.


def line(pair: Pair) -> str:
    text = f"{pair.program:<30}{pair.search:<8}{statistics.median(pair.ours.by_cpu):>10,.0f}/s"
    if pair.peer is None or pair.by_cpu is None:
        return text
    met = "met" if pair.by_cpu.median >= TARGET_RATIO else "MISSED"
    peer = f"{statistics.median(pair.peer.by_cpu):>8,.0f}/s"
    return f"{text}{peer}{pair.by_cpu!s:>20} times (target {TARGET_RATIO}: {met})"


def peer_table(pairs: Sequence[Pair], version: str, command: str) -> Figures:
    rows: list[tuple[str, ...]] = []
    for pair in pairs:
        assert pair.peer is not None, pair
        rows.append(
            (
                pair.program,
                "random walk" if pair.search == RANDOM else "all orders",
                f"{statistics.median(pair.ours.by_cpu):,.0f}",
                f"{statistics.median(pair.peer.by_cpu):,.0f}",
                str(pair.by_cpu),
                str(pair.by_wall),
                f"{pair.ours.failing:.0%} / {pair.peer.failing:.0%}",
            )
        )
    return Figures(
        ("program", "search", "ours, a second", "frontrun", "ratio", "by wall clock", "failing, ours / theirs"),
        tuple(rows),
        f"Schedules a CPU second, frontrun {version}; medians of the rounds, and the least and most. `{command}`",
    )


if __name__ == "__main__":
    sys.exit(main())
