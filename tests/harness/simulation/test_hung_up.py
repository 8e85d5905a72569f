"""The real engines behind the servers, and clients that hang up two hundred times: nothing is kept, all are served."""

from __future__ import annotations

import asyncio
from collections import Counter

import numpy as np
import pytest

from harness.load.clock import WallClock
from harness.load.pacer import Pacer
from harness.pair.pair import Pair
from harness.simulation.assembly import assemble
from harness.transport.contract import ChatRequest, TransportOptions
from harness.transport.hang_up import HANG_UP_PHASES, HangUp, HangUpPhase, HungUp
from harness.transport.raw import RawTransport
from kernels.engine.shared import SharedModel
from kernels.hicache.invariants import check
from tests.harness.simulation.small_runs import small

pytestmark = pytest.mark.asyncio

ABORTS = 200
AT_ONCE = 8
SEED = 5
ANSWER = "swift sticky via wooden lamp over quiet gravel under seven tall birches near old stone bridges"


def asking(number: int) -> ChatRequest:
    """A prompt of a page or two: every fourth one continues one that was asked before."""
    notes = f"note {number % 60} " + "amber lattice " * 300
    fact = f"{notes}\n[[k]] {ANSWER}\n((k))"
    return ChatRequest(f"s{number:04d}-t00", "m", [{"role": "user", "content": fact}], max_tokens=64)


def policy(phase: HangUpPhase, rng: np.random.Generator) -> HangUp:
    match phase:
        case "queued" | "prefill":
            return HangUp(phase, after_s=float(rng.uniform(0, 0.01)))
        case "first-token":
            return HangUp(phase, pieces=1)
        case "mid-answer":
            return HangUp(phase, pieces=int(rng.integers(2, 6)))


async def test_two_hundred_hang_ups_leave_nothing_behind(shared: SharedModel, caplog: pytest.LogCaptureFixture) -> None:
    rng, numbers, hung_up, answers = np.random.default_rng(SEED), iter(range(10_000)), Counter[str](), list[str]()
    assembly = assemble(small("hicache_bf16_gated"), 0, shared)
    pacer = Pacer(assembly.machine, speed=20)
    engines = assembly.pair
    free = engines.decode._allocator.free_pages
    async with Pair(engines.prefill, engines.decode, gate=pacer) as pair:
        pacing = asyncio.ensure_future(pacer.run())
        clock = WallClock()
        client = RawTransport(TransportOptions(pair.base_url), now_ns=lambda: clock.now_ns)

        async def churn() -> None:
            while hung_up.total() < ABORTS:
                number = next(numbers)
                phase = HANG_UP_PHASES[number % len(HANG_UP_PHASES)]
                # One in five is left in peace, and must be right whatever happens beside it.
                leave = None if number % 5 == 0 else policy(phase, rng)
                request = asking(number)
                reply = await client.chat(ChatRequest(request.request_id, "m", request.messages, max_tokens=64,
                                                      hang_up=leave))  # fmt: skip
                if isinstance(reply.error, HungUp):
                    hung_up[reply.error.phase] += 1
                else:
                    assert reply.error is None, reply.error
                    answers.append(reply.content)

        try:
            await asyncio.gather(*(churn() for _ in range(AT_ONCE)))
            while not (engines.prefill.flush_cache() and engines.decode.flush_cache()):
                await asyncio.sleep(0)
            last = await client.chat(asking(9_999))
            while not (engines.prefill.flush_cache() and engines.decode.flush_cache()):
                await asyncio.sleep(0)
        finally:
            await client.close()
            pacing.cancel()
            await asyncio.wait([pacing])
    assert hung_up.total() >= ABORTS
    assert min(hung_up[phase] for phase in HANG_UP_PHASES) >= 10, hung_up
    assert set(answers) == {ANSWER} == {last.content}
    check(engines.cache)
    assert engines.cache.is_idle
    assert engines.cache.leases == {}
    assert engines.decode._allocator.free_pages == free
    # Only rooms of which one half never reached its engine, and of these there is a bound (tests/engine/pair).
    assert all(room.halves_come == 1 for room in engines.prefill._bootstrap._rooms.values())
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
