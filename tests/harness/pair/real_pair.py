"""The pair with its real engines behind real sockets, as fast as it computes.

Owns: putting it together. Does not own: any assertion. Floor: tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import openai

from harness.config import load_scenario
from harness.load.pacer import Pacer
from harness.pair.engines import ModelFacts
from harness.pair.pair import Pair, PairOptions
from harness.simulation.assembly import assemble
from kernels.engine.shared import SharedModel
from tests.harness.tiny import TINY

SHARED = SharedModel()
PAGE_TOKENS = 256


@asynccontextmanager
async def real_pair(**overrides: str) -> AsyncIterator[Pair]:
    """overrides: `section__key="value"` of the tiny scenario."""
    values = {key.replace("__", "."): value for key, value in overrides.items()}
    assembly = assemble(load_scenario(str(TINY), values), 1, SHARED)
    pacer = Pacer(assembly.machine, speed=1e4)
    options = PairOptions(model=ModelFacts(details={"page_size": PAGE_TOKENS}))
    async with Pair(assembly.pair.prefill, assembly.pair.decode, gate=pacer, options=options) as pair:
        pacing = asyncio.ensure_future(pacer.run())
        try:
            yield pair
        finally:
            pacing.cancel()
            await asyncio.wait([pacing])


@asynccontextmanager
async def openai_client(pair: Pair) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=pair.base_url, api_key="none", max_retries=0, timeout=30) as client:
        yield client
