"""What a streamed chunk costs each client, and what each adds to the time between tokens: all in one run.

Owns: compiling and starting the mock server (stream_server.c), one process a client, the table, the JSON under
benchmarks/results. Does not own: any threshold in the tests. Server and client are pinned to cores of their own where
there are two. Run it on an otherwise idle machine: `python benchmarks/client_cost.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from harness.live.clock import LagMeter  # noqa: E402
from harness.live.stress_request import TRANSPORTS  # noqa: E402
from harness.load.clock import WallClock  # noqa: E402
from harness.transport.contract import ChatRequest, TransportOptions  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
SOURCE = ROOT / "benchmarks" / "stream_server.c"
EVENTS, PERIOD_US = 128, 10_000
TARGET_US, TARGET_MS = 20.0, 1.0
SERVER_LATE_MS = 12.0
"""A server whose own gaps are longer than this did not pace anybody."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One client. cpu_us: of the client's process, a chunk, raw bytes kept and every reply read whole.

    extra_p99_ms: the client's p99 of the gaps above the server's own. lag_p99_ms: what the client says of itself.
    """

    client: str
    streams: int
    chunks: int
    cpu_us: float
    itl_p50_ms: float
    itl_p99_ms: float
    server_p99_ms: float
    extra_p99_ms: float
    lag_p99_ms: float | None
    streams_open_max: int
    peak_mb: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=60)
    parser.add_argument("--requests", type=int, default=4, help="one after the other, on each stream")
    parser.add_argument("--clients", default="raw,aiohttp,openai")
    parser.add_argument("--child", nargs=2, metavar=("CLIENT", "URL"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(asyncio_run(given.child[0], given.child[1], given.streams, given.requests)))
        return 0
    if shutil.which("cc") is None:
        print("no C compiler 'cc' here: the mock server cannot be built", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "stream_server"
        subprocess.run(["cc", "-O2", "-Wall", "-o", str(binary), str(SOURCE)], check=True)
        figures = [measure(binary, name, given.streams, given.requests) for name in given.clients.split(",")]
    report = {
        "stamp": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "events": EVENTS,
        "period_us": PERIOD_US,
        "figures": [asdict(figure) for figure in figures],
    }
    show(figures)
    late = max(figure.server_p99_ms for figure in figures)
    if late > SERVER_LATE_MS:
        meant = f"{late:.1f} ms p99 where {PERIOD_US / 1e3:g} is meant"
        print(f"NOT KEPT: the server itself was late ({meant}), so pieces came together: run it on an idle machine")
        return 4
    (RESULTS / "client_cost.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def show(figures: list[Figure]) -> None:
    print(f"{'client':<8} {'us CPU/chunk':>12} {'x raw':>6} {'ITL p50':>8} {'ITL p99':>8} {'server p99':>10} "
          f"{'above':>7} {'own lag p99':>11} {'open':>5} {'MB':>5}")  # fmt: skip
    for one in figures:
        lag = "unknown" if one.lag_p99_ms is None else f"{one.lag_p99_ms:.2f}"
        print(f"{one.client:<8} {one.cpu_us:>12.1f} {one.cpu_us / figures[0].cpu_us:>6.1f} {one.itl_p50_ms:>8.2f} "
              f"{one.itl_p99_ms:>8.2f} {one.server_p99_ms:>10.2f} {one.extra_p99_ms:>7.2f} {lag:>11} "
              f"{one.streams_open_max:>5} {one.peak_mb:>5.0f}")  # fmt: skip
    first = figures[0]
    print(f"aims for {first.client}: {TARGET_US:g} us ({'met' if first.cpu_us <= TARGET_US else 'missed'}), "
          f"{TARGET_MS:g} ms above the server ({'met' if first.extra_p99_ms <= TARGET_MS else 'missed'}); "
          f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")  # fmt: skip


def measure(binary: Path, client: str, streams: int, requests: int) -> Figure:
    """A fresh server for each client, so that its record of its own gaps is of this client alone."""
    server = subprocess.Popen(
        [*_pinned(1), str(binary), str(EVENTS), str(PERIOD_US)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    words = [sys.executable, __file__, "--child", client, url, "--streams", str(streams), "--requests", str(requests)]
    try:
        done = subprocess.run([*_pinned(0), *words], stdout=subprocess.PIPE, text=True, check=True)
    finally:
        server.terminate()
        own = json.loads(server.stdout.read())
        server.wait()
    found = json.loads(done.stdout)
    assert found["chunks"] == streams * requests * EVENTS, found
    return Figure(
        client=client,
        streams=streams,
        server_p99_ms=own["p99_ms"],
        extra_p99_ms=round(found["itl_p99_ms"] - own["p99_ms"], 3),
        streams_open_max=own["open_max"],
        **found,
    )


def _pinned(core: int) -> list[str]:
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2 or shutil.which("taskset") is None:
        return []
    return ["taskset", "-c", str(cores[core])]


def asyncio_run(client: str, url: str, streams: int, requests: int) -> dict[str, float | int | None]:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(stream(client, url, streams, requests))


async def stream(client: str, url: str, streams: int, requests: int) -> dict[str, float | int | None]:
    """Every stream asks `requests` times. The first round, which opens connections, is not measured."""
    import resource

    clock = WallClock()
    transport = TRANSPORTS[client](TransportOptions(url), now_ns=lambda: clock.now_ns)
    request = ChatRequest("r", "mock", [{"role": "user", "content": "x"}])
    gaps: list[int] = []
    chunks = 0

    async def one(count: int, *, is_measured: bool) -> None:
        nonlocal chunks
        for _ in range(count):
            reply = await transport.chat(request)
            assert reply.error is None, reply.error
            assert reply.content == " word" * EVENTS
            assert reply.raw is not None
            if is_measured:
                chunks += len(reply.text_ns)
                gaps.extend(later - earlier for earlier, later in pairwise(reply.text_ns))

    await asyncio.gather(*(one(1, is_measured=False) for _ in range(streams)))
    async with LagMeter() as lag:
        began = time.process_time()
        await asyncio.gather(*(one(requests, is_measured=True) for _ in range(streams)))
        spent_s = time.process_time() - began
    await transport.close()
    gaps_ms = np.asarray(gaps) / 1e6
    return {
        "chunks": chunks,
        "cpu_us": round(1e6 * spent_s / chunks, 2),
        "itl_p50_ms": round(float(np.percentile(gaps_ms, 50)), 3),
        "itl_p99_ms": round(float(np.percentile(gaps_ms, 99)), 3),
        "lag_p99_ms": round(float(np.percentile(np.asarray(lag.kernel_ns) / 1e6, 99)), 3) if lag.kernel_ns else None,
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
