"""The pair over real sockets with the fake machine behind it, as several tests need it.

Owns: putting the parts together, and one digest over everything that must not depend on the weather.
Does not own: any assertion. Floor: tests. Source: ours.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from harness.load.conductor import Conductor
from harness.load.generator import Generator, LoadOptions, LoadProgress
from harness.load.pacer import Pacer
from harness.load.workload.plan import SessionPlan
from harness.pair.pair import Pair, PairOptions
from harness.transport.contract import Transport, TransportOptions
from harness.transport.over_aiohttp import AiohttpTransport
from results.records import TurnRecord
from tests.harness.fake_machine import FakeEngines, FakeMachine


@dataclass(slots=True)
class Rig:
    machine: FakeMachine
    engines: FakeEngines
    conductor: Conductor
    pair: Pair
    records: list[TurnRecord] = field(default_factory=list)

    async def load(
        self,
        plans: Sequence[SessionPlan],
        *,
        base_url: str | None = None,
        stream: bool = True,
        transport: Callable[..., Transport] = AiohttpTransport,
    ) -> LoadProgress:
        client = transport(TransportOptions(base_url or self.pair.base_url), now_ns=lambda: self.conductor.now_ns)
        options = LoadOptions(self.pair.options.model.name, stream=stream)
        try:
            return await Generator(plans, client, self.conductor, options=options, on_turn=self.records.append).run()
        finally:
            await client.close()

    def digest(self) -> str:
        """Of all records and of everything the machine did, in its order."""
        turns = sorted(self.records, key=lambda record: record.key)
        return hashlib.sha256(repr((turns, self.machine.trace)).encode()).hexdigest()


@asynccontextmanager
async def rig(options: PairOptions | None = None, **faults: Any) -> AsyncIterator[Rig]:
    """faults: fields of FakeEngines."""
    machine = FakeMachine()
    engines = FakeEngines(machine, **faults)
    conductor = Conductor(machine, watchdog_s=10)
    async with Pair(engines.prefill, engines.decode, gate=conductor, options=options) as pair:
        yield Rig(machine, engines, conductor, pair)


@asynccontextmanager
async def served(options: PairOptions | None = None, **faults: Any) -> AsyncIterator[tuple[Pair, FakeEngines]]:
    """The pair as `serve` runs it, for clients that know nothing of virtual time; a virtual hour takes no time."""
    machine = FakeMachine()
    engines = FakeEngines(machine, **faults)
    pacer = Pacer(machine, speed=1e6)
    async with Pair(engines.prefill, engines.decode, gate=pacer, options=options) as pair:
        task = asyncio.ensure_future(pacer.run())
        try:
            yield pair, engines
        finally:
            task.cancel()
            await asyncio.wait([task])


async def post(url: str, body: object) -> tuple[int, bytes]:
    """One request with a connection of its own; body: bytes as they are, anything else as JSON."""
    arguments: dict[str, Any] = {"data": io.BytesIO(body)} if isinstance(body, bytes) else {"json": body}
    async with aiohttp.ClientSession() as session, session.post(url, **arguments) as response:
        return response.status, await response.read()


async def get(url: str) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.read()
