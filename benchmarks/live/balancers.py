"""The three load balancers that people put in front of a prefill/decode pair, as processes.

Owns: their names and versions, where they are installed, the words that start each. Does not own: the pair, or what is
sent through them. Source: facts/real-servers.md section 1; `make parts` installs them from requirements-parts.lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.live.launching import HOST, Launch, Process, free_ports, running
from harness.pair.pair import Pair
from harness.simulation.run import Door

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venvs" / "parts" / "bin" / "python"

Balancer = Literal["sglang-router", "mini_lb", "smg"]
BALANCERS: tuple[Balancer, ...] = ("sglang-router", "mini_lb", "smg")

_BOOTSTRAP_PORT = 8998
_MODULES: dict[Balancer, tuple[str, ...]] = {
    "sglang-router": ("sglang_router.launch_router",),
    "mini_lb": ("sglang_router.launch_router", "--mini-lb"),
    # Not the command `smg`: both packages ship one of that name.
    "smg": ("smg", "launch"),
}


@dataclass(frozen=True, slots=True)
class Front:
    """A balancer that serves. base_url: what a client takes."""

    base_url: str
    process: Process


def is_installed() -> bool:
    return PYTHON.exists()


def launch(balancer: Balancer, *, prefill_url: str, decode_url: str, port: int, metrics_port: int) -> Launch:
    words = [str(PYTHON), "-m", *_MODULES[balancer], "--host", HOST, "--port", str(port), "--pd-disaggregation"]
    words += ["--prefill", prefill_url, str(_BOOTSTRAP_PORT), "--decode", decode_url]
    words += ["--policy", "random" if balancer == "mini_lb" else "round_robin"]
    if balancer != "mini_lb":
        words += ["--prometheus-host", HOST, "--prometheus-port", str(metrics_port)]
        words += ["--worker-startup-check-interval", "1"]
    ready = "/health" if balancer == "mini_lb" else "/readiness"
    # smg waits for connections that its clients keep; it holds nothing that a kill could lose.
    return Launch(balancer, tuple(words), (port, ready), end_s=0.5)


@contextmanager
def in_front(balancer: Balancer, *, prefill_url: str, decode_url: str, folder: Path) -> Iterator[Front]:
    """Raises: ServerProblem."""
    port, metrics_port = free_ports(2)
    workers = {"prefill_url": prefill_url, "decode_url": decode_url}
    asked = launch(balancer, **workers, port=port, metrics_port=metrics_port)
    with running(asked, folder) as process:
        yield Front(f"http://{HOST}:{port}/v1", process)


@asynccontextmanager
async def fronted(balancer: Balancer, *, prefill_url: str, decode_url: str, folder: Path) -> AsyncIterator[str]:
    """Its base URL, while this loop goes on: workers that live in it must answer as the balancer comes up and goes."""
    front = in_front(balancer, prefill_url=prefill_url, decode_url=decode_url, folder=folder)
    opened = await asyncio.to_thread(front.__enter__)
    try:
        yield opened.base_url
    finally:
        await asyncio.to_thread(front.__exit__, None, None, None)


def door(balancer: Balancer, folder: Path) -> Door:
    """A way to a pair that leads through this balancer; its log is in `folder`."""

    def opened(pair: Pair) -> AbstractAsyncContextManager[str]:
        workers = {"prefill_url": pair.worker_url("prefill"), "decode_url": pair.worker_url("decode")}
        return fronted(balancer, **workers, folder=folder)

    return opened
