"""Timed traces, played twice and compared: GRIEF's described loop, written anew, without its engine signals.

Owns: traces, their mutation at random, the comparison, ten replays of what differed. Does not own: the requests.
Source: the description in arXiv 2605.11202 and its public reports: duplicates, bursts, retries 60 ms after a cancel.
Its code is not public, and neither is the signal of the engine that guides its search, so this loop has none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.peers.client import MAX_TOKENS, Completion, CountingClient
from benchmarks.stubs.clock import busy_for

TRACES = 4
REQUESTS = 8
REPLAYS = 10
SPREAD_MS = 200
RETRY_MS = 60


@dataclass(frozen=True, slots=True)
class Timed:
    """One request of a trace. cancel_ms: after how long its client hangs up; None: it stays."""

    at_ms: int
    prompt: int
    max_tokens: int = MAX_TOKENS
    cancel_ms: int | None = None


Trace = tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Diverged:
    """trace: whose replies differ from one time to the next. pairs: (prompt, one reply, another)."""

    trace: Trace
    first: tuple[Completion | None, ...]
    pairs: tuple[tuple[int, Completion, Completion], ...]


async def search(client: CountingClient, prompts: Sequence[Sequence[int]], seed: int) -> Diverged | None:
    """Play mutated traces until one of them does not repeat itself, or all are played."""
    rng = np.random.default_rng([seed, 34])
    trace: Trace = tuple(
        Timed(int(rng.integers(0, SPREAD_MS)), int(rng.integers(0, len(prompts)))) for _ in range(REQUESTS)
    )
    for _ in range(TRACES):
        first, second = await play(client, prompts, trace), await play(client, prompts, trace)
        pairs = differing(trace, first, second)
        if pairs:
            return Diverged(trace, first, pairs)
        trace = mutated(rng, trace, len(prompts))
    return None


async def replayed(client: CountingClient, prompts: Sequence[Sequence[int]], found: Diverged) -> int:
    """In how many of ten further plays a reply differs from the first play's."""
    again = [await play(client, prompts, found.trace) for _ in range(REPLAYS)]
    return sum(bool(differing(found.trace, found.first, one)) for one in again)


async def play(client: CountingClient, prompts: Sequence[Sequence[int]], trace: Trace) -> tuple[Completion | None, ...]:
    """The replies, in the trace's order; None for whose client hung up."""
    return tuple(await asyncio.gather(*(_send(client, prompts[one.prompt], one) for one in trace)))


async def _send(client: CountingClient, prompt: Sequence[int], one: Timed) -> Completion | None:
    await busy_for(one.at_ms / 1e3)
    if one.cancel_ms is None:
        return await client.complete(prompt, one.max_tokens)
    with suppress(TimeoutError):
        async with asyncio.timeout(one.cancel_ms / 1e3):
            await client.complete(prompt, one.max_tokens)
    return None


def differing(
    trace: Trace, one: Sequence[Completion | None], other: Sequence[Completion | None]
) -> tuple[tuple[int, Completion, Completion], ...]:
    """Requests whose text differs. Log-probabilities are looked at by hand in the public reports, not by the oracle."""
    return tuple(
        (timed.prompt, a, b)
        for timed, a, b in zip(trace, one, other, strict=True)
        if a is not None and b is not None and a.text != b.text
    )


def mutated(rng: np.random.Generator, trace: Trace, prompts: int) -> Trace:
    """One change at random: another time, another prompt, the same one twice, a burst, a cancel and its retry."""
    at = int(rng.integers(0, len(trace)))
    one = trace[at]
    kind = str(rng.choice(("time", "prompt", "twice", "burst", "cancel")))
    if kind == "time":
        changed: Trace = (replace(one, at_ms=int(rng.integers(0, SPREAD_MS))),)
    elif kind == "prompt":
        changed = (replace(one, prompt=int(rng.integers(0, prompts))),)
    elif kind == "twice":
        changed = (one, replace(one, at_ms=one.at_ms + 1))
    elif kind == "burst":
        return tuple(replace(each, at_ms=one.at_ms) for each in trace)
    else:
        hang_up = int(rng.integers(1, SPREAD_MS))
        changed = (replace(one, cancel_ms=hang_up), replace(one, at_ms=one.at_ms + hang_up + RETRY_MS, cancel_ms=None))
    return (*trace[:at], *changed, *trace[at + 1 :])
