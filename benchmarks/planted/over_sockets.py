"""The same over real sockets: `run.py plant` in front of a sound server, the measuring client, the judge of a live run.

Owns: the processes, the runs, and the comparison with the way that has no sockets. Does not own: planting, judging.
Source: ours.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.page import Figures
from benchmarks.planted.in_process import MAX_TOKENS, Lane, spec_of
from benchmarks.planted.sound_server import MODEL
from harness.live.arrivals import load_shape
from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest, Patience
from harness.live.run import LiveRun, run_live
from harness.live.target import Target
from harness.planting.dosing import Dose, Dosing
from harness.planting.faults import FAULTS, Fault
from harness.planting.found import compare
from harness.planting.planter import Planter
from harness.planting.truth import Planted, read_truth
from harness.transport.raw import RawTransport
from results.stats.intervals import upper_bound_at_zero

ROOT = Path(__file__).resolve().parents[2]
RUNS = {0.001: 10, 0.01: 4, 0.1: 1}
"""So many runs of 60 sessions a rate: a rare fault needs more turns to be there at all."""
SESSIONS = 60
READ_S = 5.0


@contextmanager
def sound_server() -> Iterator[str]:
    """Its base URL."""
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.planted.sound_server"], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert server.stdout is not None
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    finally:
        server.terminate()
        server.wait()


@contextmanager
def planting(upstream: str, fault: Fault, rate: float, seed: int, truth: Path) -> Iterator[str]:
    """`run.py plant` as a user starts it; its base URL."""
    words = ["plant", "--upstream", upstream, "--fault", f"{fault.name}={100 * rate:g}%", "--seed", str(seed),
             "--spare-first", "0", "--truth", str(truth), "--json"]  # fmt: skip
    proxy = subprocess.Popen([sys.executable, "run.py", *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert proxy.stdout is not None
        yield json.loads(proxy.stdout.readline())["base_url"]
    finally:
        proxy.terminate()
        proxy.communicate()


def live_run(base_url: str, sessions: int, seed: int) -> LiveResult:
    load = load_shape("closed", sessions, None, None)
    request = LiveRequest(
        target=Target("live", base_url), model=MODEL, workload=spec_of(sessions), load=load, seed=seed,
        max_tokens=MAX_TOKENS, transport_name="raw", transport=RawTransport, store=None, repeat="",
        patience=Patience(10.0, READ_S),
    )  # fmt: skip
    return run_live(LiveRun(request))


@dataclass(slots=True)
class Row:
    """One fault at one rate. differ: turns that are judged otherwise without sockets."""

    turns: int = 0
    planted: int = 0
    found: int = 0
    right: int = 0
    alarms: int = 0
    unknown_elsewhere: int = 0
    differ: int = 0
    called: Counter[str] = field(default_factory=Counter)


def detection_over_sockets(seed: int, faults: Sequence[Fault]) -> Figures:
    rows: list[tuple[str | int, ...]] = []
    lanes: dict[int, Lane] = {}
    for fault in faults:
        for rate, runs in RUNS.items():
            row = Row()
            for number in range(runs):
                lane = lanes.setdefault(number, Lane(SESSIONS, seed + number))
                _add(row, lane, fault, rate, seed + number)
            called = ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in row.called.most_common())
            rows.append((fault.name, fault.symptom, f"{100 * rate:g} %", row.turns, row.planted, row.found, row.right,
                         row.alarms, row.unknown_elsewhere, row.differ, called))  # fmt: skip
    measured = (
        f"`run.py plant` between the raw client and a sound server; {SESSIONS} sessions a run, "
        f"{'/'.join(map(str, RUNS.values()))} runs at {'/'.join(f'{100 * rate:g}' for rate in RUNS)} %, seeds from "
        f"{seed} on. Differ: turns whose verdict or kind is another one without sockets."
    )
    columns = ("fault", "class", "rate", "turns", "planted", "found", "right name", "alarms elsewhere",
               "not judged elsewhere", "differ", "called")  # fmt: skip
    return Figures(columns, tuple(rows), measured)


def _add(row: Row, lane: Lane, fault: Fault, rate: float, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder, sound_server() as upstream:
        truth = Path(folder) / "truth.jsonl"
        with planting(upstream, fault, rate, seed, truth) as base_url:
            result = live_run(base_url, SESSIONS, seed)
        planted = read_truth(truth)
    named = [(turn.request_id, judged) for turn, judged in zip(result.turns, result.judgements, strict=True)]
    comparison = compare(planted, named)
    row.turns += len(named)
    row.alarms += len(comparison.alarms)
    for one in comparison.faults.values():
        row.planted += one.planted
        row.found += one.found
        row.right += one.right
        row.called += one.called
    hit = {one.request_id for one in planted}
    row.unknown_elsewhere += sum(str(judged.verdict) == "unknown" and name not in hit for name, judged in named)
    twin = _twin(lane, fault, rate, seed)
    row.differ += sum(twin[name] != (judged.verdict, judged.kind) for name, judged in named)


def _twin(lane: Lane, fault: Fault, rate: float, seed: int) -> dict[str, tuple[object, object]]:
    planted: list[Planted] = []
    planter = Planter(Dosing([Dose(fault, rate)], seed), on_planted=planted.append)
    turns, judgements = lane.run(planter)
    return {
        turn.request_id: (judged.verdict, judged.kind) for turn, judged in zip(turns, judgements, strict=True)
    }  # fmt: skip


@dataclass(slots=True)
class CleanRow:
    """Runs with nothing planted, added up."""

    runs: int = 0
    turns: int = 0
    corrupted: int = 0
    unknown: int = 0
    in_flight: int = 0
    streams: int = 0
    busy_s: float = 0.0
    cpu_s: float = 0.0
    verdicts: Counter[str] = field(default_factory=Counter)

    def add(self, result: LiveResult, busy_s: float, cpu_s: float) -> None:
        self.runs += 1
        self.turns += len(result.turns)
        self.corrupted += result.summary.turns_corrupted
        self.unknown += result.summary.turns_unknown
        self.in_flight = max(self.in_flight, int(result.summary.counters["requests_in_flight_max"]))
        self.streams = max(self.streams, result.latency.streams_max)
        self.busy_s += busy_s
        self.cpu_s += cpu_s
        self.verdicts[str(result.summary.verdict)] += 1


def clean_over_sockets(turns_wanted: int, sessions: int, seed: int, *, is_through_proxy: bool) -> Figures:
    """Nothing planted: every turn judged, over real sockets, directly or through a proxy that plants nothing."""
    row = CleanRow()
    with tempfile.TemporaryDirectory() as folder, sound_server() as upstream:
        while row.turns < turns_wanted:
            truth = Path(folder) / f"{row.runs}.jsonl"
            through = planting(upstream, FAULTS["token_salad"], 0.0, seed, truth)
            with through if is_through_proxy else nullcontext(upstream) as base_url:
                began_s, began_cpu_s = time.perf_counter(), time.process_time()
                result = live_run(base_url, sessions, seed + row.runs)
                row.add(result, time.perf_counter() - began_s, time.process_time() - began_cpu_s)
            print(f"{row.turns:,} turns, {row.corrupted} corrupted, {row.unknown} not judged", flush=True)
    bound = f"{100 * upper_bound_at_zero(row.turns):.4f} %" if not row.corrupted else ""
    cells = (
        "through a proxy that plants nothing" if is_through_proxy else "straight to the server",
        row.runs, sessions, f"{row.turns:,}", row.corrupted, row.unknown, bound, f"{row.turns / row.busy_s:,.0f}",
        f"{1e3 * row.cpu_s / row.turns:.2f}", row.in_flight, row.streams,
        ", ".join(f"{verdict} {count}" for verdict, count in row.verdicts.items()),
    )  # fmt: skip
    columns = (
        "way", "runs", "sessions each", "turns", "corrupted", "not judged", "rates left open", "turns a second",
        "client CPU, ms a turn", "requests in flight, most", "streams open, most", "verdicts of the runs",
    )  # fmt: skip
    return Figures(columns, (cells,), f"Seeds {seed} to {seed + row.runs - 1}; every turn judged, raw bytes kept.")
