"""After the load: asked twice, within patience, and the gauges must come down to where they were."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping

import orjson
import pytest

from harness.live.liveness.record import LivenessReport, Recovery
from harness.live.liveness.recovery import Recoverer, RecoverySettings
from harness.live.preflight import EXPECTED_ARGUMENTS
from harness.transport.contract import Reply, Stamps
from harness.transport.errors import EngineUnreachable
from results.records import ToolCall
from tests.harness.live.liveness.fake_time import FakeClock, S

pytestmark = pytest.mark.asyncio

NOTHING = Stamps(None, None)
CALL = ToolCall("c", "open_door", orjson.dumps(EXPECTED_ARGUMENTS).decode())
RIGHT = Reply(200, "", "", (CALL,), "tool_calls", None, None, NOTHING, NOTHING, None, (), None)
WRONG = dataclasses.replace(RIGHT, tool_calls=(ToolCall("c", "open_door", '{"door": "west'),))
DEAD = dataclasses.replace(RIGHT, error=EngineUnreachable("http://x", reason="refused"))


async def recovered(
    replies: list[Reply | None], gauges: list[Mapping[str, float] | None], first: Mapping[str, float] | None = None
) -> Recovery:
    """A reply of None never comes. Each answer takes a second."""
    clock, waiting = FakeClock(), iter(replies)

    async def ask() -> Reply:
        reply = next(waiting)
        if reply is None:
            await asyncio.Event().wait()
        await clock.sleep_until(clock.now_ns + S, (), awake="ask")
        assert reply is not None
        return reply

    async def sample() -> Mapping[str, float] | None:
        return gauges.pop(0) if len(gauges) > 1 else gauges[0]

    recoverer = Recoverer(ask, sample, first, clock, RecoverySettings(wait_s=3.0, patience_s=20.0))
    task = asyncio.ensure_future(recoverer.run())
    await clock.advance_to(100.0)
    return await task


async def test_sound_server() -> None:
    found = await recovered([RIGHT, RIGHT], [{"server_running": 0, "server_waiting": 0}])
    assert [(one.after_s, one.took_s, one.is_answered, one.is_right) for one in found.asked] == [
        (0.0, 1.0, True, True), (4.0, 1.0, True, True),
    ]  # fmt: skip
    assert (found.is_healthy, found.running, found.waiting, found.leaked) == (True, 0, 0, 0)
    assert found.words() == "answered 2 small requests after the load (in 1.0 s, 1.0 s); no request was left behind"
    assert LivenessReport(10.0, recovery=found).verdict == "ok"


async def test_gauges_may_take_their_time() -> None:
    busy = {"server_running": 3, "server_waiting": 1}
    found = await recovered([RIGHT, RIGHT], [busy, busy, {"server_running": 0, "server_waiting": 0}])
    assert found.leaked == 0


async def test_requests_that_stay_are_told() -> None:
    left = {"server_running": 5, "server_waiting": 1}
    found = await recovered([RIGHT, RIGHT], [left], first={"server_running": 2, "server_waiting": 1})
    assert (found.running, found.waiting, found.leaked) == (3, 0, 3)
    assert "LEFT BEHIND: 3 running and 0 waiting more than before" in found.words()


async def test_server_that_never_answers_is_given_up() -> None:
    found = await recovered([None, None], [None])
    assert not found.is_healthy
    assert [one.took_s for one in found.asked] == [20.0, 20.0]
    assert "NOT RECOVERED: a small request 0.0 s after the load failed: no whole answer within 20 s" in found.words()
    assert "no gauge tells" in found.words()
    assert LivenessReport(10.0, recovery=found).verdict == "not recovered"


async def test_server_that_dies_after_the_first_answer() -> None:
    found = await recovered([RIGHT, DEAD], [None])
    assert [one.is_answered for one in found.asked] == [True, False]
    assert not found.is_healthy


async def test_wrong_answer_is_health_and_told() -> None:
    found = await recovered([RIGHT, WRONG], [None])
    assert found.is_healthy
    assert "not with the planted call" in found.words()
