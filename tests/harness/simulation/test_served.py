"""The real engines behind the servers, in real time: what cannot be served is refused, and the next one is served."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from harness.load.pacer import Pacer
from harness.pair.pair import Pair
from harness.simulation.assembly import assemble
from kernels.engine.shared import SharedModel
from tests.harness.rig import post
from tests.harness.simulation.small_runs import small

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def served(shared: SharedModel) -> AsyncIterator[str]:
    """The router's chat address. A virtual second takes a millisecond."""
    assembly = assemble(small("hicache_bf16"), 0, shared)
    pacer = Pacer(assembly.machine, speed=1e3)
    async with Pair(assembly.pair.prefill, assembly.pair.decode, gate=pacer) as pair:
        task = asyncio.ensure_future(pacer.run())
        try:
            yield f"{pair.router_url}/v1/chat/completions"
        finally:
            task.cancel()
            await asyncio.wait([task])


def asking(*messages: Mapping[str, Any], max_tokens: int = 32) -> dict[str, Any]:
    fact = {"role": "user", "content": "[[k]] swift sticky via\n((k))"}
    return {"model": "m", "messages": [*messages, fact], "max_tokens": max_tokens}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (asking({"role": "user", "content": "word " * 60_000}), "do not fit into the prefill pool"),
        (asking(max_tokens=10**6), "do not fit into the decode pool"),
        (asking({"role": "oracle", "content": "hello"}), "role 'oracle' is unknown"),
        (asking({"role": "user", "content": [{"type": "image_url"}]}), "content is neither text"),
    ],
)
async def test_a_refusal_is_told_and_the_next_request_is_served(
    shared: SharedModel, body: dict[str, Any], sentence: str
) -> None:
    async with served(shared) as url:
        status, raw = await post(url, body)
        assert status >= 400
        assert sentence in json.loads(raw)["error"]["message"]
        status, raw = await post(url, asking())
        assert status == 200
        assert json.loads(raw)["choices"][0]["message"]["content"] == "swift sticky via"
