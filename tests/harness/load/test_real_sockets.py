"""Sixty sessions through the router over real sockets: one digest, whatever else the machine does."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from harness.load.clock import WallClock
from harness.load.generator import Generator, LoadOptions
from harness.load.workload.plan import SessionPlan
from harness.transport.contract import TransportOptions
from harness.transport.over_aiohttp import AiohttpTransport
from harness.transport.over_openai import OpenAITransport
from results.records import TurnRecord
from tests.harness.rig import rig, served
from tests.harness.small_plans import session_plan

pytestmark = pytest.mark.asyncio


def _sixty() -> list[SessionPlan]:
    # Several sessions share each start, so that the order of simultaneous arrivals matters all the time.
    return [session_plan(session, start_ns=(session % 7) * 1_000_000) for session in range(60)]


def _is_right_tool(record: TurnRecord) -> bool:
    assert record.expected is not None
    return [call.name for call in record.tool_calls] == [record.expected.name]


async def _digest() -> str:
    async with rig() as built:
        progress = await built.load(_sixty())
        assert progress.is_complete
        assert progress.turns_failed == 0
        for record in built.records:
            assert record.finish_reason == "tool_calls"
            assert _is_right_tool(record)
        return built.digest()


async def test_same_digest_twice_and_beside_a_busy_thread() -> None:
    quiet = await _digest()
    is_over = threading.Event()

    def burn() -> None:
        while not is_over.is_set():
            sum(range(1_000))

    thread = threading.Thread(target=burn)
    thread.start()
    try:
        assert await _digest() == quiet
    finally:
        is_over.set()
        thread.join()


async def test_reply_that_is_through_before_its_prefill_half() -> None:
    """The router waits for both halves, so time must go on until the slower one has ended too."""
    async with rig(late_prefill_ns=10_000_000_000) as built:
        progress = await built.load([session_plan(0), session_plan(1)])
        assert progress.is_complete
        assert progress.turns_failed == 0


async def test_digest_depends_on_the_order_of_admission() -> None:
    """The digest would be worth nothing if the fake machine gave the same times for any order."""
    async with rig() as built:
        await built.load(_sixty()[::-1])
        same = built.digest()
    assert same == await _digest(), "the order in which the plans are given must not matter"
    async with rig() as built:
        await built.load([session_plan(59 - plan.session, start_ns=plan.start_ns) for plan in _sixty()])
        assert built.digest() != same


async def test_not_streamed() -> None:
    async with rig() as built:
        progress = await built.load([session_plan(0), session_plan(1)], stream=False)
        assert (progress.turns_ended, progress.turns_failed) == (6, 0)
        record = built.records[0]
        assert _is_right_tool(record)
        assert record.cached_tokens == 1


async def test_official_client_gives_the_same_records() -> None:
    plans = [session_plan(session, turns=2) for session in range(4)]
    async with rig() as fast, rig() as official:
        await fast.load(plans)
        await official.load(plans, transport=OpenAITransport)
        for record, other in zip(fast.records, official.records, strict=True):
            assert record == replace(other, raw=record.raw)
        assert fast.machine.trace == official.machine.trace


async def test_wall_clock_against_the_pair_as_it_is_served() -> None:
    clock = WallClock()
    records: list[TurnRecord] = []
    async with served() as (pair, _):
        transport = AiohttpTransport(TransportOptions(pair.base_url), now_ns=lambda: clock.now_ns)
        plans = [session_plan(session, think_ns=0) for session in range(20)]
        generator = Generator(plans, transport, clock, options=LoadOptions("m"), on_turn=records.append)
        progress = await generator.run()
        await transport.close()
    assert (progress.turns_ended, progress.turns_failed) == (60, 0)
    for record in records:
        assert _is_right_tool(record)
        assert record.first_token_ns is not None
        assert record.finished_ns is not None
        assert record.sent_ns < record.first_token_ns <= record.finished_ns


async def test_engine_errors_end_the_turn_and_nothing_else() -> None:
    async def digest() -> str:
        async with rig(fail_prefill={"s0001-t01"}, fail_decode={"s0002-t00": 0, "s0003-t02": 3}) as built:
            progress = await built.load([session_plan(session) for session in range(5)])
            assert (progress.turns_ended, progress.turns_failed) == (15, 3)
            errors = {record.request_id: record.error for record in built.records if record.error}
            assert errors == {
                "s0001-t01": "the server answered 500: the prefill worker answered 500: no page is free",
                "s0002-t00": "the server answered 500: the decode engine gave up",
                "s0003-t02": "the server put an error into its answer of status 200: the decode engine gave up",
            }
            whole = [record for record in built.records if record.error is None]
            assert all(map(_is_right_tool, whole))
            return built.digest()

    assert await digest() == await digest()


async def test_swallowed_request_is_reported_with_its_session() -> None:
    async with rig(swallow={"s0001-t00"}) as built:
        with pytest.raises(AssertionError, match=r"cannot move.*s0001/awake"):
            await built.load([session_plan(0), session_plan(1)])
        assert len(built.records) == 3, "what was done stays done"
