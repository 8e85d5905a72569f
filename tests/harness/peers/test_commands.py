"""The parts that are processes of their own: a target, and the peer that brings a command."""

from __future__ import annotations

import pytest

from benchmarks.peers.infer_check import infer_check
from benchmarks.peers.process import target_process
from benchmarks.peers.questions import Question
from benchmarks.stubs.peer import find_peer
from tests.harness.pair.real_pair import real_pair
from tests.harness.rig import get

pytestmark = pytest.mark.asyncio


async def test_target_process_gives_a_fresh_pair_for_each_seed() -> None:
    async with target_process("sound") as process:
        first = await process.fresh(1)
        assert (await get(f"{first}/health"))[0] == 200
        second = await process.fresh(2)
        assert (await get(f"{second}/health"))[0] == 200
        with pytest.raises(OSError, match="Cannot connect"):
            await get(f"{first}/health")


async def test_infer_check_reads_the_pair_and_finds_a_sound_one_consistent() -> None:
    command = find_peer(None)
    if command is None:
        pytest.skip("infer-check is not on the path: pip install infer-check (extra 'peers')")
    asked = [
        Question(f'[[k{number}]] open_door {{"door": {number}}}\n((k{number}))', (), "open_door", {"door": number})
        for number in range(3)
    ]
    async with real_pair() as pair:
        found = await infer_check(command, pair.router_url, "sound", 1, asked)
    assert (found.is_alarm, found.exit_code, found.said) == (False, 0, "100%, 100%")
    assert found.total_requests == 6
