"""How fast the detector judges the trace of a real run, and what it costs to have it read along.

Owns: the measuring, the table, benchmarks/results/detector_speed.json. Does not own: any threshold; a figure that
misses its target is printed, not hidden. Run it on an otherwise idle machine:

    python -m benchmarks.detector_speed                    # 60 sessions, as the documents quote
    python -m benchmarks.detector_speed --sessions 6 --pairs 1

An event is a row of the trace: an operation, a record, a wait, a host step. A page access is one page of one layer that
an operation reads or writes. Times are CPU seconds of one thread; the best of the rounds is told, and their median.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np

from harness.config import load_scenario
from harness.simulation.run import RunRequest, Simulation, run_to_end
from kernels.engine.shared import SharedModel
from kernels.races.detector.detector import Detector
from kernels.races.detector.memory import TracedMemory
from kernels.races.detector.order import Order, Ordered
from kernels.races.detector.stored import judge_file, to_lines
from kernels.substrate.columns import Columns, Tables
from kernels.substrate.read_columns import ColumnReader
from kernels.substrate.trace import TraceSink
from kernels.substrate.trace_columns import ColumnTrace

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "benchmarks" / "results" / "detector_speed.json"
TARGET_EVENTS_PER_S = 1_000_000
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class TraceFacts:
    events: int
    accesses: int
    page_accesses: int
    bytes_as_columns: int
    bytes_as_lines: int


@dataclass(frozen=True, slots=True)
class Seconds:
    """CPU seconds of one thread, over some rounds."""

    best_s: float
    median_s: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A stored trace, from its bytes to its verdict."""

    seconds: Seconds
    events_per_s: int
    verdict: str
    races: int
    unordered_pairs: int


@dataclass(frozen=True, slots=True)
class Along:
    """The run alone, and with the detector as a sink: CPU seconds of each, and the ratio of the medians."""

    alone_s: tuple[float, ...]
    along_s: tuple[float, ...]
    ratio: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="hicache_bf16")
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=22811)
    parser.add_argument("--rounds", type=int, default=15, help="times that the stored trace is judged")
    parser.add_argument("--pairs", type=int, default=2, help="pairs of runs, without and with the detector; 0: none")
    given = parser.parse_args()
    load_before = os.getloadavg()[0]
    columns = io.BytesIO()
    trace = ColumnTrace(columns, program=given.scenario, seed=given.seed)
    serve(given, trace)
    trace.finish()
    lines = io.BytesIO()
    problem = to_lines(io.BytesIO(columns.getvalue()), lines)
    assert problem is None, problem
    facts = trace_facts(columns.getvalue(), len(lines.getvalue()))
    as_columns, as_lines = judged(columns.getvalue(), given.rounds), judged(lines.getvalue(), 1)
    where = parts(columns.getvalue(), given.rounds)
    along = reading_along(given) if given.pairs else None
    show(facts, as_columns, as_lines, where, along)
    report = {
        "command": " ".join(["python -m benchmarks.detector_speed", *sys.argv[1:]]),
        "stamp": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "host": {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()},
        "versions": {"python": platform.python_version(), "numpy": np.__version__},
        "load_before": load_before,
        "target_events_per_s": TARGET_EVENTS_PER_S,
        "trace": asdict(facts),
        "columns": asdict(as_columns),
        "lines": asdict(as_lines),
        "parts": {name: asdict(seconds) for name, seconds in where.items()},
        "reading_along": asdict(along) if along is not None else None,
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(report, indent=2) + "\n")
    print(OUT.relative_to(ROOT))
    return 0


def serve(given: argparse.Namespace, trace: TraceSink | None) -> float:
    """One run of the scenario. Returns: its CPU seconds."""
    scenario = load_scenario(given.scenario, {"workload.sessions": given.sessions})
    began_s = time.process_time()
    run_to_end(Simulation(RunRequest(scenario, given.seed, SharedModel(), None, "", trace)))
    if isinstance(trace, Detector):
        assert not trace.problems, "asked for here, so that the rows that it keeps are judged too"
    return round(time.process_time() - began_s, 2)


def trace_facts(columns: bytes, line_bytes: int) -> TraceFacts:
    reader = ColumnReader(io.BytesIO(columns))
    blocks = list(reader)
    lists, set_sizes = reader.tables.page_lists, np.array([len(one) for one in reader.tables.layers])
    covered = np.append(0, np.cumsum(lists.end - lists.begin))[lists.offset]
    page_counts = np.diff(covered)
    page_accesses = sum(int((page_counts[one.pages] * set_sizes[one.layers]).sum()) for one in blocks)
    accesses = sum(len(one.pages) for one in blocks)
    return TraceFacts(reader.row_count - 1, accesses, page_accesses, len(columns), line_bytes)


def judged(content: bytes, rounds: int) -> Judged:
    def once() -> Detector:
        detector = judge_file(io.BytesIO(content))
        assert not detector.problems, detector.problems
        return detector

    seconds, detector = timed(once, rounds)
    return Judged(
        seconds,
        round((detector.row_count - 1) / seconds.best_s),
        str(detector.verdict),
        len(detector.races),
        sum(1 + race.repeats for race in detector.races),
    )


def parts(columns: bytes, rounds: int) -> dict[str, Seconds]:
    """Where the time goes: reading the columns, following the order, comparing accesses."""

    def read() -> tuple[Tables, list[Columns]]:
        reader = ColumnReader(io.BytesIO(columns))
        return reader.tables, list(reader)

    reading, (tables, blocks) = timed(read, rounds)

    def follow() -> list[Ordered]:
        order = Order(tables, _never)
        return [order.follow(one) for one in blocks]

    ordering, ordered = timed(follow, rounds)

    def compare() -> None:
        memory = TracedMemory(tables, _never)
        for one, known in zip(blocks, ordered, strict=True):
            memory.look(one, known)

    comparing, _ = timed(compare, rounds)
    return {"reading": reading, "order": ordering, "memory": comparing}


def _never(row: int, reason: str) -> None:
    raise AssertionError(f"row {row}: {reason}")


def timed(what: Callable[[], R], rounds: int) -> tuple[Seconds, R]:
    seconds: list[float] = []
    for _ in range(rounds):
        began_s = time.thread_time()
        result = what()
        seconds.append(time.thread_time() - began_s)
    return Seconds(round(min(seconds), 4), round(statistics.median(seconds), 4)), result


def reading_along(given: argparse.Namespace) -> Along:
    """The same run without and with the detector, by turns."""
    alone_s, along_s = zip(*((serve(given, None), serve(given, Detector())) for _ in range(given.pairs)), strict=True)
    return Along(alone_s, along_s, round(statistics.median(along_s) / statistics.median(alone_s), 3))


def show(facts: TraceFacts, columns: Judged, lines: Judged, where: dict[str, Seconds], along: Along | None) -> None:
    speed = columns.events_per_s
    print(f"trace           {facts.events:>13,} events, {facts.accesses:,} accesses, {facts.page_accesses:,} of pages")
    print(f"columns         {speed:>13,} events/s, {speed * facts.accesses // facts.events:,} accesses/s")
    print(f"                {speed * facts.page_accesses // facts.events:>13,} page accesses/s")
    print(f"target          {TARGET_EVENTS_PER_S:>13,} events/s: {'met' if speed >= TARGET_EVENTS_PER_S else 'MISSED'}")
    for name, seconds in where.items():
        print(f"  {name:<14}{1e9 * seconds.best_s / facts.events:>13,.0f} ns an event")
    print(f"JSON Lines      {lines.events_per_s:>13,} events/s")
    if along is not None:
        print(f"reading along   {along.ratio:>13} times the CPU time of the run alone")


if __name__ == "__main__":
    sys.exit(main())
