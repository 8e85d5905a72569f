"""How long the report of a big run takes, and how large it gets: 10,000 turns, one session in six corrupted.

Owns: the synthetic run (seeded; records only, no machine), the measuring, the JSON under benchmarks/results. Does not
own: any threshold in the tests. Run it on an otherwise idle machine: `python benchmarks/report_speed.py`.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from results.oracles.context import judge_context  # noqa: E402
from results.oracles.judge import judge_turn  # noqa: E402
from results.records import (  # noqa: E402
    ExpectedCall,
    MachineEvidence,
    Measured,
    RunManifest,
    SessionRecord,
    StaleRead,
    ToolCall,
    ToolSchema,
    TurnRecord,
)
from results.report.formats import FILE_NAMES, write_report  # noqa: E402
from results.report.model import build_report  # noqa: E402
from results.store import create_run  # noqa: E402
from results.summary import summarise  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
SEED = 22811
SESSIONS, TURNS = 1_250, 8
CORRUPTED_SHARE = 1 / 6
RAW_BYTES = 8_000
WALL_S_TARGET, HTML_MB_TARGET = 10.0, 5.0

_WORDS = ("graph", "vehicles", "combines", "differ", "initial", "winner", "optional", "checks", "while", "the", "of")


@dataclass(frozen=True, slots=True)
class Figure:
    """target: None where the issue sets none."""

    name: str
    value: float
    unit: str
    target: float | None = None


def main() -> int:
    print(f"seed {SEED}, {SESSIONS * TURNS} turns")
    with tempfile.TemporaryDirectory() as folder:
        path = make_run(Path(folder))
        figures = measure(path)
    for figure in figures:
        target = "" if figure.target is None else f"   target {figure.target:g}"
        print(f"{figure.name:<28} {figure.value:9.2f} {figure.unit}{target}")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    host = {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}
    report = {"stamp": stamp, "host": host, "python": platform.python_version(), "load_before": os.getloadavg()[0]}
    report |= {"seed": SEED, "turns": SESSIONS * TURNS, "command": "python benchmarks/report_speed.py"}
    RESULTS.mkdir(parents=True, exist_ok=True)
    file = RESULTS / f"report-{stamp}.json"
    file.write_text(json.dumps({**report, "figures": [asdict(figure) for figure in figures]}, indent=2) + "\n")
    print(file.relative_to(ROOT))
    return 0


def measure(path: Path) -> list[Figure]:
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    report = build_report(path)
    built_s = time.perf_counter()
    figures = [Figure("read and build", round(built_s - began_s, 3), "s")]
    html_s = cpu_s = 0.0
    for name, file_name in FILE_NAMES.items():
        before_s = time.perf_counter()
        written = write_report(report, path / file_name, name)
        took_s = time.perf_counter() - before_s
        if name == "html":
            html_s, cpu_s = took_s, time.process_time() - began_cpu_s
        figures.append(Figure(f"write {name}", round(took_s, 3), "s"))
        size = Figure(f"size {name}", round(written.stat().st_size / 1e6, 3), "MB")
        figures.append(Figure(size.name, size.value, size.unit, HTML_MB_TARGET) if name == "html" else size)
    total_s = round(built_s - began_s + html_s, 3)
    peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    cards = Figure("corrupted turns", float(report.evidence_total), "turns")
    whole = [Figure("HTML report, all in", total_s, "s", WALL_S_TARGET), Figure("of it CPU", round(cpu_s, 3), "s")]
    return [*whole, cards, *figures, Figure("peak", peak, "MB")]


def make_run(root: Path) -> Path:
    """A stored run whose turns are drawn from `SEED`; every reply is judged by the real oracles."""
    rng = np.random.default_rng(SEED)
    tools = (ToolSchema("book_table", "Reserve a table.", {"type": "object", "properties": {}}),)
    sessions = [SessionRecord(number, group=number % 4, turn_count=TURNS) for number in range(SESSIONS)]
    context = judge_context(tools=tools, sessions=sessions, exact_replies=True)
    manifest = RunManifest(
        seed=SEED,
        scenario="synthetic",
        backend="none",
        configuration={"workload": {"sessions": SESSIONS}},
        versions={},
        host={},
        git_revision=None,
        started="2026-11-29T00:00:00Z",
        repeat="python benchmarks/report_speed.py",
        session_count=SESSIONS,
        exact_replies=True,
        requires_host_tier=True,
    )
    stamp = "20261129T000000Z"
    with create_run(root, stamp=stamp, manifest=manifest, tools=tools, sessions=sessions) as writer:
        turns, judgements = [], []
        for turn in sorted(_turns(rng), key=lambda turn: turn.finished_ns or 0):
            turns.append(turn)
            judgements.append(judge_turn(turn, context))
            writer.append(turn, judgements[-1])
        measured = Measured(len(turns), 100.0, "00", {"load_backs": len(turns) // 2, "loaded_bytes": 10**12})
        summary = summarise(manifest, turns, judgements, measured=measured, run_dir=str(writer.path))
        writer.close(finished="2026-11-29T01:00:00Z", measured=measured, summary=summary.as_json())
        return writer.path


def _turns(rng: np.random.Generator) -> list[TurnRecord]:
    turns = []
    for session in range(SESSIONS):
        sent_ns = int(rng.uniform(0, 60e9))
        wrong = int(rng.integers(TURNS)) if rng.random() < CORRUPTED_SHARE else TURNS
        for number in range(TURNS):
            turns.append(_turn(rng, session, number, sent_ns, is_wrong=number == wrong))
            sent_ns += int(rng.lognormal(22.5, 0.4))
    return turns


def _turn(rng: np.random.Generator, session: int, number: int, sent_ns: int, *, is_wrong: bool) -> TurnRecord:
    expected = ExpectedCall("book_table", {"restaurant": f"place {int(rng.integers(10**6))}", "guests": number})
    tokens, first_ns = int(rng.integers(20, 60)), sent_ns + int(rng.lognormal(18.5, 0.8))
    layers = int(rng.integers(12, 19)) if is_wrong else int(rng.random() < 0.05) * int(rng.integers(1, 14))
    sample = tuple(StaleRead("index_k", layer, (1, 2, 3, 9), 120.0, 0) for layer in range(layers))
    loaded = int(rng.integers(20_000)) if layers or rng.random() < 0.5 else 0
    return TurnRecord(
        session=session,
        turn=number,
        request_id=f"s{session:04d}-t{number:02d}",
        group=session % 4,
        scheduled_ns=sent_ns,
        sent_ns=sent_ns,
        first_token_ns=first_ns,
        finished_ns=first_ns + tokens * 20_000_000,
        prompt_tokens=int(rng.integers(18_000, 38_000)),
        completion_tokens=tokens,
        cached_tokens=loaded,
        finish_reason="stop" if is_wrong else "tool_calls",
        content=" ".join(rng.choice(_WORDS, size=tokens)) if is_wrong else "",
        tool_calls=() if is_wrong else (ToolCall("call_0", "book_table", json.dumps(expected.arguments)),),
        expected=expected,
        secrets=(),
        error=None,
        raw="data: {}\n\n" * (RAW_BYTES // 10),
        machine=MachineEvidence(loaded, 0, 500, 4, 60 * layers, 0, layers, 120.0 if layers else None, 0, 0, sample),
    )


if __name__ == "__main__":
    sys.exit(main())
