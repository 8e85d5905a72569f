"""What balancers make of a request: bodies are written anew and headers dropped, and the sessions stay apart.

Owns: what is left of a header and a body at the workers. Does not own: faults. Floor: tests.
Source: facts/real-servers.md section 1; the table here is measured with the versions that are pinned.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.live.balancers import BALANCERS, Balancer
from harness.live.credentials import Credentials
from harness.load.names import session_and_turn
from harness.simulation.run import MODEL
from results.records import TurnRecord
from tests.harness.live.live_requests import request, workload_of
from tests.harness.rig import served
from tests.real_parts.pairs import balanced, fronts_of, run_against

pytestmark = pytest.mark.asyncio

OWN_HEADERS = {"X-Session": "s-1", "X-Request-Id": "r-1"}
KEPT_HEADERS = {
    "sglang-router": {"x-request-id", "authorization"},
    "smg": {"x-request-id", "authorization"},
    "mini_lb": set[str](),
}
RENAMED = {"max_tokens", "user"}
"""What sglang-router 0.3.2 does not pass on under these names."""


@pytest.mark.parametrize("balancer", BALANCERS)
async def test_sessions_are_told_apart_by_body(balancer: Balancer, tmp_path: Path) -> None:
    asked = request("http://127.0.0.1:1/v1", model=MODEL, credentials=Credentials("sk-1", OWN_HEADERS, "a test"))
    async with (
        served() as (pair, _),
        fronts_of(pair, {}) as fronts,
        balanced(balancer, fronts, tmp_path) as url,
    ):
        directly = await run_against(pair.base_url, asked)
        through = await run_against(url, asked)
    by_name = {one.name: one for one in fronts.prefill.deliveries}
    assert sorted(by_name) == sorted(turn.request_id for turn in through.turns)
    # Both halves of a turn, and no two turns, share a room.
    rooms = {name: one.room for name, one in by_name.items()}
    assert rooms == {one.name: one.room for one in fronts.decode.deliveries}
    assert len(set(rooms.values())) == len(rooms)
    for one in by_name.values():
        sent = {name.lower() for name in one.headers} & {"x-session", "x-request-id", "authorization"}
        assert sent == KEPT_HEADERS[balancer]
        missing = {"model", "messages", "tools", "max_tokens", "stream", "user"} - set(one.body)
        assert missing == (RENAMED if balancer == "sglang-router" else set())
        session, turn = session_and_turn(one.name) or (-1, -1)
        plan = workload_of(asked).sessions[session]
        assert [message["content"] for message in one.body["messages"] if message["role"] == "user"] == [
            message["content"] for message in plan.messages(turn) if message["role"] == "user"
        ]
    assert replies(through.turns) == replies(directly.turns)


def replies(turns: list[TurnRecord]) -> dict[str, object]:
    """All but the ids of the calls, which our workers make from the room."""
    calls = {turn.request_id: tuple((call.name, call.arguments) for call in turn.tool_calls) for turn in turns}
    return {turn.request_id: (calls[turn.request_id], turn.content, turn.finish_reason, turn.error) for turn in turns}
