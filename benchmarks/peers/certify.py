"""A determinism certificate after LockStep's idea, written anew: equal in token ids and log-probabilities, or not.

Owns: the cells (cold, warm), the repeats with other company each, the comparison of all pairs, and the refusal to
judge what was never batched. Does not own: the requests (`client`).
Source: the algorithm of `certify` in u7k4rs6/LockStep (2026-08), read and not copied. Its own prompts are random ids of
at most three pages; this one is given ours, which are long enough to be evicted. Its rule stands: no tolerance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from benchmarks.peers.client import Completion, CountingClient
from kernels.engine.vocabulary import VOCABULARY_SIZE

REPEATS = 3
FILLERS = (0, 5, 13)
"""Strangers in the batch of each repeat: who else is there must not matter."""

CertificateVerdict = Literal["CLEAN", "DIVERGED", "NOT BATCHED"]
Cell = Literal["cold", "warm"]
CELLS: tuple[Cell, ...] = ("cold", "warm")


@dataclass(frozen=True, slots=True)
class Certificate:
    """differing: (prompt, one reply, another) for every pair of repeats that is not equal. running_max: requests that
    were seen to run together."""

    verdict: CertificateVerdict
    differing: tuple[tuple[int, Completion, Completion], ...]
    running_max: int


async def certify(client: CountingClient, prompts: Sequence[Sequence[int]], cell: Cell, seed: int) -> Certificate:
    """Ask the same prompts again and again, all at once, each time among other strangers.

    Effect: cold empties the cache before every repeat; warm asks once beforehand and never empties it.
    """
    page_tokens = await client.page_size() or 16
    rng = np.random.default_rng([seed, 33])
    await client.reset_cache()
    if cell == "warm":
        await _together(client, prompts)
    client.running_max = 0
    rounds: list[list[Completion]] = []
    async with client.watching():
        for repeat in range(REPEATS):
            if cell == "cold":
                await client.reset_cache()
            strangers = [_stranger(rng, page_tokens + 3 + index) for index in range(FILLERS[repeat % len(FILLERS)])]
            replies = await _together(client, [*prompts, *strangers])
            rounds.append(replies[: len(prompts)])
    differing = tuple(
        (index, one[index], other[index])
        for one, other in combinations(rounds, 2)
        for index in range(len(prompts))
        if one[index] != other[index]
    )
    if client.running_max <= 1:
        return Certificate("NOT BATCHED", differing, client.running_max)
    return Certificate("DIVERGED" if differing else "CLEAN", differing, client.running_max)


async def _together(client: CountingClient, prompts: Sequence[Sequence[int]]) -> list[Completion]:
    return await asyncio.gather(*(client.complete(prompt) for prompt in prompts))


def _stranger(rng: np.random.Generator, length: int) -> list[int]:
    return [int(token) for token in rng.integers(1_000, VOCABULARY_SIZE, size=length)]
