"""Wall time and peak memory of the commands that a user waits for, each in a process of its own.

Owns: the list of commands, the measuring, the JSON under benchmarks/results. Does not own: any threshold; a figure that
misses its target is printed, not hidden. Run it on an otherwise idle machine: `make bench`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Case:
    """arguments: of run.py. wall_s_target, peak_mb_target: what the design asks for, None where it asks for nothing."""

    name: str
    arguments: tuple[str, ...]
    statuses: tuple[int, ...]
    wall_s_target: float | None = None
    peak_mb_target: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    command: str
    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int
    wall_s_target: float | None
    peak_mb_target: float | None


CASES = (
    Case("main command", ("--scenario", "hicache_bf16", "--sessions", "60", "--quiet"), (1,), 30.0, 1_536.0),
    Case("gated arm", ("--scenario", "hicache_bf16_gated", "--sessions", "60", "--quiet"), (0,)),
    Case("HiCache off", ("--scenario", "off_bf16", "--sessions", "60", "--quiet"), (0,)),
    Case("five arms, one seed", ("arms", "--seeds", "0"), (0,), 180.0),
    Case("120 sessions", ("--scenario", "hicache_bf16", "--sessions", "120", "--quiet"), (1,)),
)


def main() -> int:
    figures = [measure(case) for case in CASES]
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    host = {"system": platform.system(), "machine": platform.machine(), "cores": os.cpu_count()}
    report = {"stamp": stamp, "host": host, "python": platform.python_version(), "load_before": os.getloadavg()[0]}
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"commands-{stamp}.json"
    path.write_text(json.dumps({**report, "figures": [asdict(figure) for figure in figures]}, indent=2) + "\n")
    print(path.relative_to(ROOT))
    return 0


def measure(case: Case) -> Figure:
    """Run one command and wait for it. The peak is of its own process and of the children that it waited for."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "run.py", *case.arguments, "--out", folder]
        began_s = time.perf_counter()
        child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - began_s
    exit_code = os.waitstatus_to_exitcode(status)
    if exit_code not in case.statuses:
        raise SystemExit(f"{case.name}: exit status {exit_code}, expected {case.statuses}")
    figure = Figure(
        name=case.name,
        command=" ".join(["python", "run.py", *case.arguments]),
        wall_s=round(wall_s, 2),
        cpu_s=round(usage.ru_utime + usage.ru_stime, 2),
        peak_mb=round(usage.ru_maxrss / 1024, 1),
        status=exit_code,
        wall_s_target=case.wall_s_target,
        peak_mb_target=case.peak_mb_target,
    )
    print(f"{figure.name:<28} {figure.wall_s:7.1f} s wall {figure.cpu_s:7.1f} s CPU {figure.peak_mb:8.0f} MB peak")
    return figure


if __name__ == "__main__":
    sys.exit(main())
