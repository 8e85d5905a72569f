"""The real engines behind our two workers, in wall-clock time and five times as fast, for somebody else's balancer.

Owns: putting them together, with a faulty front door before each worker. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live.balancers import Balancer, fronted
from harness.config import load_scenario
from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest
from harness.live.run import LiveRun
from harness.load.names import Role
from harness.load.pacer import Pacer
from harness.pair.pair import Pair
from harness.simulation.assembly import assemble
from kernels.engine.shared import SharedModel
from tests.real_parts.faulty_front import FaultyFront, fronting

SCENARIO = "hicache_bf16_gated"
SEED = 22811
_SPEED = 5.0

Planted = Mapping[Role, Mapping[str, str]]
"""Faults by the turn's name, for each worker."""


@dataclass(frozen=True, slots=True, eq=False)
class Fronts:
    prefill: FaultyFront
    decode: FaultyFront

    def of(self, role: Role) -> FaultyFront:
        return self.prefill if role == "prefill" else self.decode


@asynccontextmanager
async def serving_pair() -> AsyncIterator[Pair]:
    """The gated twin of the incident, which is clean: whatever goes wrong has been planted."""
    assembly = assemble(load_scenario(SCENARIO), SEED, SharedModel())
    pacer = Pacer(assembly.machine, speed=_SPEED)
    async with Pair(assembly.pair.prefill, assembly.pair.decode, gate=pacer) as pair:
        pacing = asyncio.ensure_future(pacer.run())
        try:
            yield pair
            assert not pacing.done(), pacing
        finally:
            pacing.cancel()
            await asyncio.wait([pacing])


@asynccontextmanager
async def fronts_of(pair: Pair, planted: Planted) -> AsyncIterator[Fronts]:
    async with (
        fronting(pair.worker_url("prefill"), planted.get("prefill", {})) as prefill,
        fronting(pair.worker_url("decode"), planted.get("decode", {})) as decode,
    ):
        yield Fronts(prefill, decode)


def balanced(balancer: Balancer, fronts: Fronts, folder: Path) -> AbstractAsyncContextManager[str]:
    """The base URL of a balancer in front of these doors."""
    return fronted(balancer, prefill_url=fronts.prefill.url, decode_url=fronts.decode.url, folder=folder)


async def run_against(base_url: str, asked: LiveRequest) -> LiveResult:
    """`asked` with the server's address, which is known only now."""
    return await LiveRun(dataclasses.replace(asked, target=dataclasses.replace(asked.target, base_url=base_url))).run()
