"""The cost of a neighbour: none where there is none, the planted one where there is, unknown where nobody can tell."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.cli.liveness_options import TOXIC_KINDS
from harness.live.limits import TokenBudget
from harness.live.liveness.neighbour import GUARD_SHARE, Blocks, blocks_of, neighbour_cost
from harness.live.liveness.record import Neighbour
from harness.live.liveness.toxic import TOXIC, ToxicCommand, ToxicRequests
from harness.live.liveness.watching import stopped
from harness.transport.contract import ChatRequest, Reply, Stamps
from harness.transport.errors import EngineTimeout
from results.records import LoadMark, TurnRecord
from tests.harness.live.liveness.fake_time import FakeClock, S
from tests.results.builders import turn

PAIRS = 10
BLOCK_S = 5.0


def traffic(blocks: Blocks, factor: float, rng: np.random.Generator) -> list[TurnRecord]:
    """Ten requests a block; each block has a level of its own, and a neighbour multiplies every wait."""
    turns = []
    for number in range(2 * PAIRS):
        level_ms = 100 * float(np.exp(rng.normal(0, 0.2)))
        for place in range(10):
            at_s = (number + (place + 0.5) / 10) * BLOCK_S
            wait_ms = level_ms * float(np.exp(rng.normal(0, 0.3))) * (factor if blocks.is_on(number) else 1.0)
            at_ns = round(at_s * S)
            turns.append(turn(number, place, scheduled_ns=at_ns, sent_ns=at_ns,
                              first_token_ns=at_ns + round(wait_ms * 1e6), finished_ns=at_ns + 10 * S))  # fmt: skip
    return turns


def cost(turns: Sequence[TurnRecord], blocks: Blocks, rng: np.random.Generator, **changes: object) -> Neighbour:
    fields: dict[str, object] = {"toxic": "long-prompt", "requests": 3, "ended_s": 2 * PAIRS * BLOCK_S} | changes
    return neighbour_cost(turns, frozenset(), blocks, rng, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_planted_factor_lies_in_the_interval(factor: float) -> None:
    covered, decided = 0, 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 17])
        blocks = blocks_of(BLOCK_S, 2 * PAIRS * BLOCK_S, rng)
        found = cost(traffic(blocks, factor, rng), blocks, rng)
        assert found.pairs == PAIRS
        assert found.low is not None
        assert found.high is not None
        assert found.p is not None
        covered += found.low <= factor <= found.high
        decided += found.p < 0.05
    # 95 % intervals over 20 seeds: fewer than 16 would have a chance of 0.3 %.
    assert covered >= 16
    assert decided == 20 if factor > 1 else decided <= 4


def test_blocks_are_in_pairs_by_chance() -> None:
    blocks = blocks_of(2.0, 400.0, np.random.default_rng(3))
    assert len(blocks.is_on_first) == 100
    assert 30 < sum(blocks.is_on_first) < 70
    for pair, is_on_first in enumerate(blocks.is_on_first):
        assert blocks.is_on(2 * pair) is is_on_first
        assert blocks.is_on(2 * pair + 1) is not is_on_first


def test_guard_and_edges_belong_to_nobody() -> None:
    blocks = Blocks(10.0, (True, False))
    assert blocks.place(10.0 * GUARD_SHARE - 0.01) is None
    assert blocks.place(5.0) == (0, True)
    assert blocks.place(15.0) == (0, False)
    assert blocks.place(25.0) == (1, False)
    assert (blocks.place(-1.0), blocks.place(40.5)) == (None, None)


def test_too_little_is_unknown() -> None:
    rng = np.random.default_rng(0)
    blocks = blocks_of(BLOCK_S, 2 * PAIRS * BLOCK_S, rng)
    turns = traffic(blocks, 3.0, rng)
    found = cost(turns, blocks, rng, ended_s=3 * BLOCK_S)
    assert (found.ratio, found.pairs) == (None, 1)
    assert "UNKNOWN: 1 whole pairs" in found.words()
    few = cost(turns, blocks, rng, ended_s=6 * BLOCK_S)
    assert few.ratio is not None
    assert "fewer than 6 pairs cannot decide anything" in few.words()
    assert cost(turns, blocks, rng, failed_requests=3).ratio is None


def test_failures_and_corruption_are_counted_apart_and_warm_up_is_left_out() -> None:
    rng = np.random.default_rng(1)
    blocks = Blocks(10.0, (True,))
    turns = [
        turn(0, 0, scheduled_ns=5 * S, first_token_ns=None),
        turn(0, 1, scheduled_ns=6 * S, first_token_ns=7 * S),
        turn(0, 2, scheduled_ns=15 * S, first_token_ns=16 * S),
        turn(0, 3, scheduled_ns=16 * S, first_token_ns=17 * S, load=LoadMark(is_warm_up=True)),
    ]
    found = neighbour_cost(turns, frozenset({(0, 1)}), blocks, rng, toxic="x", requests=1, ended_s=20.0)
    assert (found.victims_on, found.victims_off, found.failed_on, found.corrupted_on) == (2, 1, 1, 1)
    assert (found.failed_off, found.corrupted_off) == (0, 0)


class Answering:
    """Takes a second for each answer; counts how many are asked at once."""

    def __init__(self, clock: FakeClock, *, fails: bool = False) -> None:
        self.clock = clock
        self.fails = fails
        self.names: list[str] = []
        self.words: list[int] = []
        self.open = self.open_max = 0
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True

    async def chat(self, request: ChatRequest) -> Reply:
        self.names.append(request.request_id)
        self.words.append(len(str(request.messages[0]["content"]).split()))
        self.open += 1
        self.open_max = max(self.open, self.open_max)
        try:
            await self.clock.sleep_until(self.clock.now_ns + S, (), awake="server")
        finally:
            self.open -= 1
        error = EngineTimeout("http://x", phase="read") if self.fails else None
        nothing = Stamps(None, None)
        return Reply(200, "", "", (), "stop", None, error, nothing, nothing, None, (), None)


@pytest.mark.asyncio
@pytest.mark.parametrize("name", list(TOXIC))
async def test_toxic_requests_last_as_long_as_they_may(name: str) -> None:
    clock, kind = FakeClock(), TOXIC[name]
    server = Answering(clock)
    poison = ToxicRequests(kind, "m", lambda: server, clock, TokenBudget(10**9), prompt_tokens=1_000)
    task = asyncio.ensure_future(poison.run())
    await clock.advance_to(3.2)
    await stopped(task)
    rounds = 7 if kind.hangs_up else 4
    assert (server.open_max, server.open, server.is_closed) == (kind.streams, 0, True)
    assert poison.sent == len(server.names) == len(set(server.names)) == rounds * kind.streams
    assert server.words[0] > 150 if kind.prompt_share == 1.0 else server.words[0] < 100


@pytest.mark.asyncio
async def test_toxic_requests_end_with_the_budget_and_tell_of_failures() -> None:
    clock = FakeClock()
    poison = ToxicRequests(TOXIC["long-prompt"], "m", lambda: Answering(clock, fails=True), clock, TokenBudget(3_000),
                           prompt_tokens=1_000)  # fmt: skip
    task = asyncio.ensure_future(poison.run())
    await clock.advance_to(60.0)
    assert task.done()
    assert (poison.sent, poison.failed) == (2, 2)
    assert "token budget" in poison.note


@pytest.mark.asyncio
async def test_command_ends_with_all_that_it_started(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    # The shell starts a child that does not listen when it is told kindly.
    command = ToxicCommand(f"(trap '' TERM; exec sh -c 'echo $$ > {told}; exec sleep 300') & sleep 300; wait")
    task = asyncio.ensure_future(command.run())
    while not told.exists() or not told.read_text().strip():
        await asyncio.sleep(0.01)
    child = int(told.read_text())
    assert _lives(child)
    await stopped(task)
    assert command.sent == 1
    while _lives(child):
        await asyncio.sleep(0.01)


def _lives(pid: int) -> bool:
    """A process that has ended, and that nobody has asked for yet, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.asyncio
async def test_command_that_cannot_run_is_told() -> None:
    command = ToxicCommand("exit 7")
    task = asyncio.ensure_future(command.run())
    while not command.note:
        await asyncio.sleep(0.01)
    await stopped(task)
    assert (command.failed, command.note) == (1, "the toxic command ended by itself with 7")


@pytest.mark.asyncio
async def test_command_that_cannot_even_be_started_is_told() -> None:
    # No system takes a word of this length.
    command = ToxicCommand(f"# {'x' * 2_000_000}")
    await command.run()
    assert (command.sent, command.failed) == (1, 1)
    assert command.note.startswith("the toxic command cannot be started: ")


def test_options_name_every_kind() -> None:
    assert tuple(TOXIC) == TOXIC_KINDS
