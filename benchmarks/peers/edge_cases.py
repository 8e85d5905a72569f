"""Three equalities of a prefill/decode pair, after vLLM's `test_edge_cases`, written anew.

Owns: the three: a prompt below a page, a hit of the whole prompt, a hit of a part of it. Does not own: the requests.
Source: vllm tests/v1/kv_connector/nixl_integration/test_edge_cases.py, read. It compares the proxy with each worker
asked alone; a worker of this pair serves one half only, so here it is the reply on an emptied cache, and later ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.client import Completion, CountingClient

_SHORT_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Unequal:
    """which: of the three. cold, warm: the two replies."""

    which: str
    cold: Completion
    warm: Completion


async def edge_cases(client: CountingClient, prompt: Sequence[int]) -> list[Unequal]:
    """Effect: empties the cache. One request at a time, as in the original."""
    half = len(prompt) // 2
    found = []
    for which, asked, before in (
        ("a prompt below a page", prompt[-_SHORT_TOKENS:], ()),
        ("a hit of the whole prompt", prompt, prompt),
        ("a hit of a part of it", prompt, prompt[:half]),
    ):
        await client.reset_cache()
        cold = await client.complete(asked)
        if before:
            await client.reset_cache()
            await client.complete(before)
        warm = await client.complete(asked)
        if cold.text != warm.text:
            found.append(Unequal(which, cold, warm))
    return found
