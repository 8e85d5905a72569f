"""The peers that we wrote anew do what they are said to do: what they find, what they miss, and when they refuse."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from benchmarks.peers.certify import CELLS, REPEATS, Cell, certify
from benchmarks.peers.client import Completion, counting_client
from benchmarks.peers.edge_cases import edge_cases
from benchmarks.peers.trace_loop import REPLAYS, Timed, differing, mutated, replayed, search
from tests.harness.peers.small_server import Behaviour, small_server

pytestmark = pytest.mark.asyncio

PROMPTS = [[1, 2, 3], [4, 5, 6, 7], [8, 9]]
SEED = 11


@pytest.fixture(autouse=True)
def watched_all_the_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gauge is read in every turn of the loop, so that no batch of this quick server is over between two looks."""
    monkeypatch.setattr("benchmarks.peers.client.WATCH_S", 0.0)


async def _certified(behaviour: Behaviour, cell: Cell) -> str:
    async with small_server(behaviour) as (url, _), counting_client(url) as client:
        return (await certify(client, PROMPTS, cell, SEED)).verdict


@pytest.mark.parametrize(
    ("behaviour", "cold", "warm"),
    [
        ("sound", "CLEAN", "CLEAN"),
        # No tolerance: what a batch does to the last digits is a divergence.
        ("shifts", "DIVERGED", "DIVERGED"),
        # Each repeat of the cold cell begins with an empty cache.
        ("forgets", "CLEAN", "DIVERGED"),
        # All repeats are wrong, and agree.
        ("repeatable", "CLEAN", "CLEAN"),
        ("one at a time", "NOT BATCHED", "NOT BATCHED"),
    ],
)
async def test_certificate(behaviour: Behaviour, cold: str, warm: str) -> None:
    assert [await _certified(behaviour, cell) for cell in CELLS] == [cold, warm]


async def test_certificate_says_which_replies_differ_and_sends_what_it_says() -> None:
    async with small_server("forgets") as (url, server), counting_client(url) as client:
        found = await certify(client, PROMPTS, "warm", SEED)
        # Every prompt of all three repeats is a wrong one with a number of its own: all three pairs of repeats differ.
        assert len(found.differing) == 3 * len(PROMPTS)
        assert {index for index, _, _ in found.differing} == {0, 1, 2}
        assert client.requests == server.requests == len(PROMPTS) * (1 + REPEATS) + 5 + 13
        assert (server.resets, found.running_max > 1) == (1, True)


@pytest.mark.parametrize(("behaviour", "finds"), [("sound", False), ("forgets", True)])
async def test_trace_loop(behaviour: Literal["sound", "forgets"], finds: bool) -> None:
    async with small_server(behaviour) as (url, _), counting_client(url) as client:
        found = await search(client, PROMPTS, SEED)
        assert (found is not None) == finds
        if found is not None:
            assert all(one.text != other.text for _, one, other in found.pairs)
            assert await replayed(client, PROMPTS, found) == REPLAYS


async def test_edge_cases() -> None:
    prompt = list(range(64))
    async with small_server("sound") as (url, _), counting_client(url) as client:
        assert await edge_cases(client, prompt) == []
    async with small_server("forgets") as (url, _), counting_client(url) as client:
        found = await edge_cases(client, prompt)
    # The hit of a part comes with another prompt, which this server has not seen.
    assert [one.which for one in found] == ["a prompt below a page", "a hit of the whole prompt"]


async def test_a_dead_server_is_an_error_and_no_reply() -> None:
    async with counting_client("http://127.0.0.1:9") as client:
        reply = await client.complete([1])
        assert (reply.text, bool(reply.error), await client.reset_cache()) == ("", True, False)


async def test_mutations_change_one_thing_and_cancels_are_retried() -> None:
    trace = tuple(Timed(at, at % 3) for at in range(0, 80, 10))
    rng = np.random.default_rng(SEED)
    changed = [mutated(rng, trace, 3) for _ in range(300)]
    retried = [new for new in changed if any(one.cancel_ms is not None for one in new)]
    bursts = [new for new in changed if len({one.at_ms for one in new}) == 1]
    assert retried
    assert bursts
    for new in retried:
        (gone,) = (one for one in new if one.cancel_ms is not None)
        assert gone.cancel_ms is not None
        again = [one for one in new if one.at_ms == gone.at_ms + gone.cancel_ms + 60]
        assert [one.prompt for one in again] == [gone.prompt]
    for new in changed:
        assert new in bursts or len(set(trace) - set(new)) <= 1


async def test_who_hung_up_has_nothing_to_compare() -> None:
    trace = (Timed(0, 0), Timed(0, 1, cancel_ms=5))
    one, other = Completion("a"), Completion("b")
    assert differing(trace, (one, None), (other, None)) == ((0, one, other),)
    assert differing(trace, (one, None), (one, other)) == ()
