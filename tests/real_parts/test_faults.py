"""What goes wrong between a balancer and our workers is told for what it is: one record a turn, never corruption.

Owns: how an outcome is read from a record and from what the workers got. Does not own: the faults (`faulty_front.py`),
what is expected of each balancer (`benchmarks/live/outcomes.py`). Floor: tests.
"""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

import pytest

from benchmarks.live.balancers import BALANCERS, Balancer
from benchmarks.live.outcomes import ENDS_WELL, OUTCOMES
from harness.live.arrivals import load_shape
from harness.live.outcome import LiveResult
from harness.live.request import LiveRequest, Patience
from harness.load.names import ROLES, Role, request_name
from harness.simulation.run import MODEL, RunProgress
from results.findings import Kind, Verdict
from results.oracles.hang import SILENCE
from results.verdict import RunVerdict
from tests.harness.cli.child import TEST_S
from tests.harness.live.live_requests import request, workload_of
from tests.harness.rig import served
from tests.real_parts.faulty_front import Delivery
from tests.real_parts.pairs import balanced, fronts_of, run_against, serving_pair

pytestmark = [pytest.mark.asyncio, pytest.mark.timeout(TEST_S)]

every_balancer = pytest.mark.parametrize("balancer", BALANCERS)

SESSIONS = 14
READ_S = 50.0
"""Long enough for a machine that is busy with other things: only what is meant to be silent may come to it."""

# The sentence of each outcome that does not end well.
TOLD = {
    "silence": SILENCE,
    "status 400": "the server answered 400",
    "error in 200": "the server put an error into its answer of status 200",
    "cut": "the answer was cut off before its end",
}
DEAD: dict[Balancer, tuple[str, ...]] = {
    "sglang-router": (SILENCE,),
    "mini_lb": ("the server answered 500", TOLD["cut"]),
    "smg": ("the server answered 503",),
}
"""What a client is told once the prefill worker is gone."""

Told = dict[tuple[Role, str], str]
"""What became of each fault."""


def sessions_that_ask(sessions: int = SESSIONS, read_s: float = READ_S) -> LiveRequest:
    load = load_shape("closed", sessions, None, None)
    return request("http://127.0.0.1:1/v1", model=MODEL, load=load, patience=Patience(5.0, read_s))


def turn_names(asked: LiveRequest) -> list[str]:
    plans = workload_of(asked).sessions
    return [request_name(plan.session, turn) for plan in plans for turn in range(len(plan.turns))]


def outcome(result: LiveResult, name: str, rooms: list[int]) -> str:
    """What the record of this turn says, with what its worker has got."""
    (turn,) = (turn for turn in result.turns if turn.request_id == name)
    if turn.error is None:
        if len(set(rooms)) < len(rooms):
            return "sent twice"
        return "retried" if len(rooms) > 1 else "unnoticed"
    return next((told for told, sentence in TOLD.items() if sentence in turn.error), turn.error)


Planting = dict[str, tuple[Role, str]]


def planted_in(names: list[str], faults: list[tuple[Role, str]]) -> Planting:
    """In the second turn of a session each, so that no fault holds another one up."""
    planted = dict(zip(names[1::3], faults, strict=False))
    assert len(planted) == len(faults)
    return planted


async def faulty_run(
    balancer: Balancer, asked: LiveRequest, planted: Planting, folder: Path
) -> tuple[LiveResult, Told]:
    by_role: dict[Role, dict[str, str]] = {
        role: {name: fault for name, (at, fault) in planted.items() if at == role} for role in ROLES
    }
    async with (
        serving_pair() as pair,
        fronts_of(pair, by_role) as fronts,
        balanced(balancer, fronts, folder) as url,
    ):
        result = await run_against(url, asked)
    told = {planted[name]: outcome(result, name, fronts.of(planted[name][0]).rooms_of(name)) for name in planted}
    return result, told


@every_balancer
async def test_every_fault_is_told_for_what_it_is(balancer: Balancer, tmp_path: Path) -> None:
    expected = {fault: told[BALANCERS.index(balancer)] for fault, told in OUTCOMES.items()}
    expected = {fault: told for fault, told in expected.items() if told != "silence"}
    asked = sessions_that_ask()
    names = turn_names(asked)
    planted = planted_in(names, list(expected))
    result, found = await faulty_run(balancer, asked, planted, tmp_path)
    assert found == expected
    assert sorted(turn.request_id for turn in result.turns) == names
    assert result.summary.turns_corrupted == 0
    for turn, judged in zip(result.turns, result.judgements, strict=True):
        told = found[planted[turn.request_id]] if turn.request_id in planted else "unnoticed"
        assert judged.verdict is (Verdict.OK if told in ENDS_WELL else Verdict.UNKNOWN), (turn.request_id, told)
    assert result.summary.turns_unknown == sum(told not in ENDS_WELL for told in expected.values())
    assert result.quirks["no_done"] == 1


@pytest.mark.parametrize("balancer", ["sglang-router", "mini_lb"])
async def test_half_that_nobody_ends_is_a_hang_and_no_corruption(balancer: Balancer, tmp_path: Path) -> None:
    """The client's patience ends it. Nothing is said of the other turns, which a busy machine may make late as well."""
    faults = [fault for fault, told in OUTCOMES.items() if told[BALANCERS.index(balancer)] == "silence"]
    asked = sessions_that_ask(read_s=3.0)
    planted = planted_in(turn_names(asked), faults)
    result, found = await faulty_run(balancer, asked, planted, tmp_path)
    assert found == dict.fromkeys(faults, "silence")
    kinds = {turn.request_id: judged.kind for turn, judged in zip(result.turns, result.judgements, strict=True)}
    assert {kinds[name] for name in planted} == {Kind.HANG}
    assert len(kinds) == len(result.turns)
    assert result.summary.turns_corrupted == 0


@every_balancer
async def test_engine_that_fails_is_not_waited_for(balancer: Balancer, tmp_path: Path) -> None:
    """The worker answers 500 and ends the other half in the same instant, so that a router need not wait for it."""
    asked = sessions_that_ask()
    names = turn_names(asked)
    failing = names[4]
    async with (
        served() as (pair, engines),
        fronts_of(pair, {}) as fronts,
        balanced(balancer, fronts, tmp_path) as url,
    ):

        def fail_the_first(one: Delivery) -> None:
            if one.name == failing and fronts.prefill.rooms_of(failing) == [one.room]:
                engines.fail_prefill.add(f"room-{one.room}")

        fronts.prefill.on_arrival = fail_the_first
        result = await run_against(url, asked)
    assert sorted(turn.request_id for turn in result.turns) == names
    told = outcome(result, failing, fronts.prefill.rooms_of(failing))
    assert told == ("error in 200" if balancer == "mini_lb" else "retried")
    assert fronts.prefill.rooms_of(failing) == fronts.decode.rooms_of(failing)
    assert result.summary.turns_corrupted == 0


@every_balancer
async def test_prefill_that_died_loses_its_turns_and_nothing_else(
    balancer: Balancer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # smg then answers 503 and asks its clients to come back after a second, time and again; patience has its own tests.
    monkeypatch.setattr("harness.live.patience.TRIES_MAX", 1)
    sessions = 8
    asked = sessions_that_ask(sessions, read_s=2.0)
    killing: list[asyncio.Task[None]] = []
    async with (
        served() as (pair, _),
        fronts_of(pair, {}) as fronts,
        balanced(balancer, fronts, tmp_path) as url,
    ):

        def kill_it(progress: RunProgress) -> None:
            if progress.load.turns_ended - progress.load.turns_failed >= sessions and not killing:
                killing.append(asyncio.ensure_future(fronts.prefill.die()))

        result = await run_against(url, dataclasses.replace(asked, on_progress=kill_it))
    names = [turn.request_id for turn in result.turns]
    assert len(set(names)) == len(names)
    assert set(names) <= set(turn_names(asked))
    lost = [turn for turn in result.turns if turn.error is not None]
    assert min(len(lost), len(names) - len(lost)) >= sessions
    assert any(sentence in str(turn.error) for turn in lost for sentence in DEAD[balancer])
    assert result.summary.turns_corrupted == 0
    assert (result.summary.verdict, result.exit_code()) == (RunVerdict.UNKNOWN, 4)
