"""What is sent when, on a loop without waiting: orders of turns, pauses, forks, traces, and late clients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.live.arrivals import LoadShape, load_shape, with_arrivals
from harness.live.load.pattern import Pattern, pattern_of, waves_of
from harness.live.load.think import ThinkTimes
from harness.live.load.warm_up import WarmUp
from harness.live.rounds import Rounds
from harness.live.workload import live_workload
from harness.load.workload.plan import ForkPoint
from kernels.errors import ConfigError
from tests.harness.live.live_requests import SMALL
from tests.harness.live.load.instant import MS, InstantServer, drive
from tests.harness.small_plans import session_plan

SEED = 11


def plans_of(count: int, *, turns: int = 3, think_ms: int = 5) -> list:  # type: ignore[type-arg]
    return [session_plan(number, turns=turns, think_ns=think_ms * MS) for number in range(count)]


def names(*keys: tuple[int, int]) -> list[str]:
    return [f"s{session:04d}-t{turn:02d}" for session, turn in keys]


def ordered(kind: str, count: int, in_flight: int) -> LoadShape:
    return replace(load_shape("closed", count, None, None), pattern=pattern_of(kind, in_flight, count))


def test_round_robin_goes_round() -> None:
    server = InstantServer(slow=lambda name: 3.0 if name.startswith("s0002") else 1.0)
    driven = drive(plans_of(5), server, ordered("round-robin", 5, 2))
    assert server.order == names(*((session, turn) for turn in range(3) for session in range(5)))
    assert server.open_max == 2
    # Whatever was held back was not meant to be sent before: the load's own order is no delay of the server's.
    assert all(turn.sent_ns == turn.scheduled_ns for turn in driven.turns)
    assert {(turn.turn, turn.load.phase) for turn in driven.turns if turn.load} == {
        (0, "first"), (1, "return"), (2, "return"),
    }  # fmt: skip


def test_without_a_pattern_nothing_is_held_back_or_marked() -> None:
    server = InstantServer()
    driven = drive(plans_of(5), server)
    assert server.open_max == 5
    assert all(turn.load is None for turn in driven.turns)


def test_burst_is_one_group_at_one_instant_and_alone() -> None:
    server = InstantServer(slow=lambda name: 3.0 if name.startswith("s0002") else 1.0)
    driven = drive(plans_of(6, turns=2), server, ordered("prefix-burst", 6, 3))
    # Groups are even and odd sessions (`small_plans`).
    waves = [[(0, 0), (2, 0), (4, 0)], [(0, 1), (2, 1), (4, 1)], [(1, 0), (3, 0), (5, 0)], [(1, 1), (3, 1), (5, 1)]]
    assert server.order == [name for wave in waves for name in names(*wave)]
    at_ms = {name: at for at, name in server.log}
    begins = [{at_ms[name] for name in names(*wave)} for wave in waves]
    assert all(len(instants) == 1 for instants in begins)
    # 60 ms for the slowest of the first group's replies, 20 ms for the others', 5 ms to think between two turns.
    assert [min(instants) for instants in begins] == [0, 65, 125, 150]
    assert {turn.load.phase for turn in driven.turns if turn.load and turn.turn == 0} == {"burst"}


def test_eviction_comes_between_the_warm_turn_and_the_return() -> None:
    server = InstantServer()
    # The last turn of those that return comes back when nobody is left to evict it: it is warm.
    plans = [session_plan(number, turns=5 if number < 2 else 2) for number in range(6)]
    driven = drive(plans, server, ordered("evict-return", 6, 4))
    returning, others = range(2), range(2, 6)
    assert server.order == names(
        *((s, 0) for s in returning), *((s, 1) for s in returning), *((s, 0) for s in others),
        *((s, 2) for s in returning), *((s, 1) for s in others), *((s, 3) for s in returning),
        *((s, 4) for s in returning),
    )  # fmt: skip
    phases = {turn.key: turn.load.phase for turn in driven.turns if turn.load}
    assert len(phases) == len(driven.turns) == 18
    assert [phases[0, turn] for turn in range(5)] == ["cold", "warm", "return", "return", "warm"]
    assert {phases[key] for key in phases if key[0] >= 2} == {"evict"}


def test_no_turn_of_a_wave_is_lost_when_requests_fail() -> None:
    from harness.transport.errors import EngineProtocolError

    broken = {name: EngineProtocolError("cut", status=200) for name in names((0, 0), (1, 1), (3, 0))}
    server = InstantServer(errors=broken)
    driven = drive(plans_of(6), server, ordered("evict-return", 6, 2))
    assert sorted(turn.key for turn in driven.turns) == [(s, t) for s in range(6) for t in range(3)]
    assert server.open_max == 2


@pytest.mark.parametrize(
    ("kind", "plans", "words"),
    [
        ("evict-return", plans_of(6, turns=2), "3 turns or more"),
        ("evict-return", plans_of(1), "at least 3 sessions; there are 1"),
        ("round-robin", plans_of(2), "needs more sessions than that; there are 2"),
        ("round-robin", [session_plan(0), session_plan(1, fork=ForkPoint(0, 0, 0))], "wait for each other"),
    ],
)
def test_plans_that_cannot_follow(kind: str, plans: list, words: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ConfigError, match=words):
        waves_of(Pattern(kind, 2), plans)  # type: ignore[arg-type]


def test_constant_pauses_are_kept() -> None:
    server = InstantServer(whole_s=0.02)
    shape = replace(load_shape("closed", 1, None, None), think=ThinkTimes("constant", 0.25))
    drive(plans_of(1), server, shape)
    assert [at for at, _ in server.log] == [0, 270, 540]


def test_exponential_pauses_have_their_law_and_do_not_hang_on_when_they_are_drawn() -> None:
    think = ThinkTimes("exponential", 2.0)
    pauses_s = [think.pause_ns(SEED, session, turn) / 1e9 for session in range(40) for turn in range(10)]
    assert stats.kstest(pauses_s, stats.expon(scale=2.0).cdf).pvalue > 1e-3
    assert think.pause_ns(SEED, 7, 3) == think.pause_ns(SEED, 7, 3) != think.pause_ns(SEED + 1, 7, 3)


def test_open_loop_does_not_wait_for_a_slow_server() -> None:
    """A second a reply, ten sessions a second: each begins when it should, and its latency counts from there."""
    server = InstantServer(first_s=1.0, whole_s=1.0, pieces=1)
    shape = load_shape("constant", 10, 10.0, None)
    plans = with_arrivals(plans_of(10, turns=1), shape, np.random.default_rng(0))
    driven = drive(plans, server, shape)
    assert [at for at, _ in server.log] == [100 * number for number in range(10)]
    assert [turn.scheduled_ns for turn in driven.turns] == [100 * MS * number for number in range(10)]
    assert server.open_max == 10


def test_replayed_trace_keeps_starts_pauses_and_forks() -> None:
    first = session_plan(0, start_ns=40 * MS, think_ns=100 * MS)
    other = session_plan(1, start_ns=10 * MS, turns=1)
    fork = session_plan(2, turns=1, start_ns=10**15, fork=ForkPoint(0, 1, 30 * MS))
    for scale in (1.0, 0.5):
        server = InstantServer(whole_s=0.02)
        shape = load_shape("trace", 3, None, None, time_scale=scale)
        driven = drive(with_arrivals([first, other, fork], shape, np.random.default_rng(0)), server, shape)
        sent_ms = {name: at for at, name in server.log}
        second = 40 * scale + 20 + 100 * scale
        assert sent_ms == pytest.approx({
            "s0000-t00": 40 * scale, "s0001-t00": 10 * scale, "s0000-t01": second,
            "s0002-t00": second + 20 + 30 * scale, "s0000-t02": second + 20 + 100 * scale,
        }, abs=1)  # fmt: skip
        assert len(driven.turns) == 5


def test_fork_waits_for_its_parent_when_a_run_lasts() -> None:
    shape = load_shape("closed", 8, None, None)
    overrides = SMALL | {"workload.fork_share": "0.5", "workload.think_s": "0.01", "workload.fork_delay_s": "0.004"}
    spec = live_workload(shape, source="builtin", prompt_tokens=900, overrides=overrides)
    rounds = Rounds(spec, SEED, lambda text: len(text) // 4)
    # The first round's plans, among them forks that stand right behind their parents, and slots for two.
    plans = list(rounds.build(0).sessions)
    server = InstantServer(slow=lambda name: 9.0 if name.startswith("s0000") else 1.0)
    driven = drive(plans, server, load_shape("closed", 2, None, 1.5), rounds=rounds)
    assert driven.ended_by == "the duration is over"
    ended = {turn.key: turn.finished_ns for turn in driven.turns}
    sent = {turn.key: turn.sent_ns for turn in driven.turns}
    known = [*plans, *(plan for workload in driven.rounds for plan in workload.sessions)]
    forks = [plan for plan in known if plan.fork is not None and (plan.session, 0) in sent]
    assert len(forks) >= 4
    for plan in forks:
        assert plan.fork is not None
        parent_end = ended[plan.fork.parent, plan.fork.turn]
        assert parent_end is not None
        assert sent[plan.session, 0] >= parent_end + 4 * MS - 1_000
    # Nobody waits in a slot: two requests are open but for the pauses.
    assert server.open_max == 2
    starts = sorted(sent[plan.session, 0] for plan in known if (plan.session, 0) in sent)
    assert max(np.diff(starts)) < 500 * MS


@pytest.mark.parametrize(
    ("warm_up", "expected"),
    [
        (WarmUp(duration_s=0.03), {(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)}),
        (WarmUp(sessions=1), {(0, 0), (0, 1), (0, 2)}),
    ],
)
def test_warm_up_is_marked(warm_up: WarmUp, expected: set[tuple[int, int]]) -> None:
    shape = replace(load_shape("closed", 3, None, None), warm_up=warm_up)
    # Turns are sent at 0, 25 and 50 ms.
    driven = drive(plans_of(3), InstantServer(), shape)
    assert {turn.key for turn in driven.turns if turn.is_aside} == expected
    assert len(driven.turns) == 9
