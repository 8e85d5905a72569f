"""Turns that wait for other sessions, and turns with a limit and fields of their own, in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.load.workload.plan import ForkPoint, SessionPlan
from results.records import TurnRecord
from tests.harness.load.test_generator import REPLY_NS, Bench
from tests.harness.small_plans import session_plan

pytestmark = pytest.mark.asyncio


def waiting(plan: SessionPlan, turn: int, *waits_for: tuple[int, int]) -> SessionPlan:
    turns = list(plan.turns)
    turns[turn] = replace(turns[turn], waits_for=waits_for)
    return replace(plan, turns=tuple(turns))


async def due(*plans: SessionPlan) -> dict[tuple[int, int], int]:
    bench = Bench()
    generator, _ = bench.generator(plans)
    assert (await generator.run()).is_complete
    return {record.key: record.scheduled_ns for record in bench.records}


async def test_a_join_comes_after_the_last_of_those_it_waits_for() -> None:
    main = waiting(session_plan(0, turns=2, think_ns=10), 1, (1, 1), (2, 0))
    slow = session_plan(1, turns=2, start_ns=5_000, think_ns=70)
    other = session_plan(2, turns=1, fork=ForkPoint(0, 0, 33))
    at = await due(main, slow, other)
    assert at[2, 0] == REPLY_NS + 33
    assert at[1, 1] == 5_000 + REPLY_NS + 70
    # The pause counts from when the last of them is back.
    assert at[0, 1] == at[1, 1] + REPLY_NS + 10


async def test_a_join_whose_others_are_back_already_only_pauses() -> None:
    main = waiting(session_plan(0, turns=2, think_ns=9_000), 1, (1, 0))
    at = await due(main, session_plan(1, turns=1))
    assert at[0, 1] == REPLY_NS + 9_000


async def test_two_wait_for_one_turn() -> None:
    parents = session_plan(0, turns=2, think_ns=500)
    children = [waiting(session_plan(at, turns=1), 0, (0, 1)) for at in (1, 2)]
    at = await due(*children, parents)
    assert at[1, 0] == at[2, 0] == 2 * REPLY_NS + 500


@pytest.mark.parametrize("missing", [(7, 0), (1, 5)])
async def test_nobody_waits_for_what_never_comes(missing: tuple[int, int]) -> None:
    at = await due(waiting(session_plan(0, turns=1, start_ns=40), 0, missing), session_plan(1, turns=1))
    assert at[0, 0] == 40


async def test_a_stopped_run_leaves_nobody_waiting() -> None:
    bench = Bench()
    plans = [waiting(session_plan(0, turns=1), 0, (1, 2)), session_plan(1, turns=3)]

    def stop_at_once(record: TurnRecord) -> None:
        bench.records.append(record)
        generator.stop()

    generator, _ = bench.generator(plans, on_turn=stop_at_once)
    assert not (await generator.run()).is_complete
    assert [record.key for record in bench.records] == [(1, 0)]


async def test_a_turn_has_its_own_limit_and_fields() -> None:
    bench = Bench()
    plan = session_plan(0, turns=3)
    turns = (replace(plan.turns[0], max_tokens=12, extra={"tool_choice": "required"}),
             replace(plan.turns[1], max_tokens=500), plan.turns[2])  # fmt: skip
    generator, transport = bench.generator([replace(plan, turns=turns)])
    await generator.run()
    # The run's limit of 99 is never exceeded.
    assert [request.max_tokens for request in transport.seen] == [12, 99, 99]
    assert [dict(request.extra) for request in transport.seen] == [{"tool_choice": "required"}, {}, {}]
    assert [record.max_tokens for record in bench.records] == [12, 99, None]
