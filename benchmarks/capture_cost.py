"""What the recording proxy adds: time to each chunk on its way, and CPU a chunk, beside the same streams without it.

Owns: a server that writes the time into each chunk, the proxy as a process of its own, a client that reads the stamps;
the table, and the JSON under benchmarks/results. Both ways are measured in turns, in one run. Does not own: any
threshold in the tests. Run it on an otherwise idle machine: `python benchmarks/capture_cost.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import psutil  # noqa: E402
import uvloop  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
CHUNKS, PERIOD_S = 200, 0.010
SPREAD_S = 1.0
"""Streams begin one after the other: agents do not ask in the same millisecond."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'data: {"at":%020d,"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}\n\n'
BODY = json.dumps(
    {"model": "mock", "stream": True, "messages": [{"role": "user", "content": "word " * 4_000}]}
).encode()
LATE_MS = 5.0
"""With direct chunks later than this (p99) the machine was too busy for the figures to mean anything."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One way. *_us: from the server's write to the client's read. cpu_us: of the proxy, a chunk."""

    way: str
    streams: int
    chunks: int
    p50_us: float
    p99_us: float
    max_us: float
    cpu_us: float | None


class Server(asyncio.Protocol):
    """Answers each request with stamped chunks at their pace."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.seen = b""

    def data_received(self, data: bytes) -> None:
        self.seen += data
        head, end, body = self.seen.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) if end else 0
        if end and len(body) >= length:
            self.seen = b""
            self.transport.write(HEAD)  # type: ignore[attr-defined]
            self.begin_s = asyncio.get_running_loop().time()
            self.next(1)

    def next(self, number: int) -> None:
        asyncio.get_running_loop().call_at(self.begin_s + number * PERIOD_S, self.write, number)

    def write(self, number: int) -> None:
        write = self.transport.write  # type: ignore[attr-defined]
        event = EVENT % time.perf_counter_ns()
        write(b"%x\r\n%s\r\n" % (len(event), event))
        if number < CHUNKS:
            self.next(number + 1)
        else:
            write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")


class Client(asyncio.Protocol):
    """Sends one request and notes how old each chunk is when it is here."""

    def __init__(self, delay_s: float) -> None:
        self.ages_ns: list[int] = []
        self.delay_s = delay_s
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\n\r\n"
        write = transport.write  # type: ignore[attr-defined]
        asyncio.get_running_loop().call_later(self.delay_s, write, head.encode() + BODY)

    def data_received(self, data: bytes) -> None:
        now_ns = time.perf_counter_ns()
        for piece in data.split(b'{"at":')[1:]:
            self.ages_ns.append(now_ns - int(piece[:20]))
        if data.endswith(b"0\r\n\r\n"):
            self.done.set_result(None)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def ask(port: int, streams: int) -> list[int]:
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(partial(Client, SPREAD_S * number / streams), "127.0.0.1", port)
        for number in range(streams)
    ]
    await asyncio.gather(*(client.done for _, client in made))
    for transport, _ in made:
        transport.close()
    ages = [age for _, client in made for age in client.ages_ns]
    assert len(ages) == streams * CHUNKS, len(ages)
    return ages


def measure(server_port: int, streams: int, rounds: int) -> list[Figure]:
    words = [sys.executable, "run.py", "capture", "--upstream", f"http://127.0.0.1:{server_port}", "--json", "--quiet"]
    with tempfile.TemporaryDirectory() as out, subprocess.Popen(
        [*words, "--out", out], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as proxy:  # fmt: skip
        assert proxy.stderr is not None
        assert proxy.stdout is not None
        port = int(proxy.stderr.readline().split()[1].rsplit(":", 1)[1].removesuffix("/v1"))
        ages: dict[str, list[int]] = {"direct": [], "captured": []}
        spent_s = 0.0
        for number in range(rounds + 1):
            for way, place in (("direct", server_port), ("captured", port)):
                before = psutil.Process(proxy.pid).cpu_times()
                found = uvloop.run(ask(place, streams))
                after = psutil.Process(proxy.pid).cpu_times()
                # The first round opens connections and loads code.
                if number:
                    ages[way] += found
                    spent_s += after.user + after.system - before.user - before.system if way == "captured" else 0.0
        proxy.send_signal(signal.SIGINT)
        told = json.loads(proxy.stdout.read())
        proxy.wait()
        assert told["exchanges"] == streams * (rounds + 1), told
    return [_figure(way, streams, ages[way], spent_s if way == "captured" else None) for way in ages]


def _figure(way: str, streams: int, ages_ns: list[int], spent_s: float | None) -> Figure:
    us = np.asarray(ages_ns) / 1e3
    cpu_us = None if spent_s is None else round(1e6 * spent_s / len(us), 1)
    return Figure(way, streams, len(us), round(float(np.percentile(us, 50)), 1), round(float(np.percentile(us, 99)), 1),
                  round(float(us.max()), 1), cpu_us)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", default="1,20,60")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        uvloop.run(serve())
        return 0
    load_before, figures = os.getloadavg()[0], []
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        for streams in map(int, given.streams.split(",")):
            figures += measure(port, streams, given.rounds)
        server.terminate()
    print(f"{'streams':>7} {'way':<9} {'chunks':>7} {'p50 us':>8} {'p99 us':>8} {'max us':>9} {'CPU us/chunk':>12}")
    for one in figures:
        cpu = "" if one.cpu_us is None else f"{one.cpu_us:.1f}"
        print(f"{one.streams:>7} {one.way:<9} {one.chunks:>7} {one.p50_us:>8.1f} {one.p99_us:>8.1f} {one.max_us:>9.1f} "
              f"{cpu:>12}")  # fmt: skip
    for direct, captured in zip(figures[::2], figures[1::2], strict=True):
        p50_us, p99_us = captured.p50_us - direct.p50_us, captured.p99_us - direct.p99_us
        times = captured.p50_us / direct.p50_us
        print(
            f"{direct.streams} streams: the proxy adds {p50_us:.0f} us (p50), {p99_us:.0f} us (p99): {times:.1f} times"
        )
    late_ms = max(one.p99_us for one in figures if one.way == "direct") / 1e3
    cores = os.cpu_count() or 1
    if late_ms > LATE_MS or load_before > cores:
        busy = f"load average {load_before:.1f} on {cores} cores, direct chunks took {late_ms:.1f} ms (p99)"
        print(f"NOT KEPT: {busy}: run it on an idle machine")
        return 4
    report = {
        "stamp": datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"),
        "cores": os.cpu_count(),
        "load_before": load_before,
        "period_ms": PERIOD_S * 1e3,
        "prompt_bytes": len(BODY),
        "figures": [asdict(one) for one in figures],
    }
    (RESULTS / "capture_cost.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
