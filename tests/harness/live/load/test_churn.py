"""Turns whose client hangs up: chosen by a seed, one record each, and in no figure."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

from harness.live.arrivals import LoadShape, load_shape
from harness.live.load.churn import Churn, ChurningTransport
from harness.live.load.pattern import Pattern
from harness.live.load.warm_up import WarmUp
from harness.live.outcome import LiveResult, live_json
from harness.live.run import LiveRun
from harness.live.screen import live_lines
from harness.transport.contract import ChatRequest, Reply, Transport
from harness.transport.hang_up import HANG_UP_PHASES, HangUpPhase
from results.findings import Verdict
from results.parquet import read_turns
from results.reader import open_run
from results.rejudge import judge_run
from results.report.gather import gather_run
from results.report.model import build_report
from results.verdict import RunVerdict
from tests.harness.live.fault_server import FaultServer, answers_of, serving
from tests.harness.live.live_requests import request, workload_of
from tests.harness.live.load.instant import InstantClock, InstantServer, drive, instantly
from tests.harness.small_plans import session_plan
from tests.harness.transport.left_server import Upto, left_server

SEED = 5


def churned(share: float, *phases: HangUpPhase, sessions: int = 8) -> LoadShape:
    return dataclasses.replace(load_shape("closed", sessions, None, None), churn=Churn(share, phases or HANG_UP_PHASES))


def test_choice_has_its_share_and_hangs_on_nothing_but_the_seed() -> None:
    churn = Churn(0.3)
    keys = [(session, turn) for session in range(200) for turn in range(5)]
    chosen = {key: churn.phase_of(SEED, *key) for key in keys}
    found = Counter(phase for phase in chosen.values() if phase is not None)
    low, high = stats.binom(len(keys), 0.3).interval(0.999)
    assert low <= found.total() <= high
    assert stats.chisquare([found[phase] for phase in HANG_UP_PHASES]).pvalue > 1e-3
    assert chosen == {key: churn.phase_of(SEED, *key) for key in reversed(keys)}
    assert chosen != {key: churn.phase_of(SEED + 1, *key) for key in keys}


def test_moments_follow_from_what_replies_took() -> None:
    """Replies of 100 ms to the first token and nine pieces: a tenth and six tenths of that, the first, the fourth."""
    seen: list[tuple[str, float | None, int | None]] = []

    class Watched(InstantServer):
        async def chat(self, request: ChatRequest) -> Reply:
            if request.hang_up is not None:
                seen.append((request.hang_up.phase, request.hang_up.after_s, request.hang_up.pieces))
            return await super().chat(request)

    async def whole() -> None:
        inner: Transport = Watched(first_s=0.1, whole_s=0.5, pieces=9)
        churning = ChurningTransport(inner, InstantClock(), Churn(0.5), SEED)
        for turn in range(40):
            await churning.chat(ChatRequest(f"s0001-t{turn:02d}", "m", []))
        assert churning.hung_up.total() == len(seen)
        assert churning.too_late == 0

    instantly(whole())
    # The first few are asked before any reply has come.
    settled = {(phase, None if after is None else round(after, 4), pieces) for phase, after, pieces in seen[-15:]}
    assert settled == {
        ("queued", 0.01, None),
        ("prefill", 0.06, None),
        ("first-token", None, 1),
        ("mid-answer", None, 4),
    }


def test_hanging_up_is_no_failure_of_the_server_and_sessions_go_on() -> None:
    plans = [session_plan(number) for number in range(8)]
    driven = drive(plans, InstantServer(pieces=9), churned(0.5))
    marks = {turn.key: turn.load.hung_up for turn in driven.turns if turn.load is not None}
    expected = {
        (session, turn): phase
        for session in range(8)
        for turn in range(3)
        if (phase := Churn(0.5).phase_of(SEED, session, turn)) is not None
    }
    # Before the first reply a first token is expected late: those that wait for it then are quicker.
    assert marks.items() <= expected.items()
    assert len(marks) >= len(expected) // 2
    assert sorted(turn.key for turn in driven.turns) == [(s, t) for s in range(8) for t in range(3)]
    assert all(turn.error == f"hung up on purpose ({phase})" for turn in driven.turns
               for phase in [marks.get(turn.key)] if phase)  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize("transport", ["raw", "aiohttp", "openai"])
async def test_whole_run_against_a_server_that_watches_who_goes(transport: str, tmp_path: Path) -> None:
    """The server answers a churned turn exactly as far as its phase, so only a client that goes lets the run end."""
    shape = churned(0.4)
    asked = request("http://127.0.0.1:1/v1", store=tmp_path, transport=transport, load=shape)
    ways: dict[HangUpPhase, Upto] = {"queued": "nothing", "prefill": "head", "first-token": 1, "mid-answer": 4}
    chosen: dict[str, Upto] = {}
    for name in answers_of(workload_of(asked)):
        phase = Churn(0.4).phase_of(asked.seed, int(name[1:5]), int(name[7:]))
        if phase is not None:
            chosen[name] = ways[phase]
    async with left_server(chosen) as server:
        target = dataclasses.replace(asked.target, base_url=server.url)
        result = await LiveRun(dataclasses.replace(asked, target=target)).run()
        assert {name: await server.gone(name) for name in chosen} == chosen
    assert max(server.asked.values()) == 1
    assert result.stopped_by is None
    run = open_run(Path(result.summary.run_dir))
    assert (run.faults, run.is_partial) == ((), False)
    assert {turn.request_id for turn in run.aside} == set(chosen)
    assert len(run.turns) + len(run.aside) == 24
    assert {ways[turn.load.hung_up] for turn in run.aside if turn.load} <= set(ways.values())  # type: ignore[index]
    assert all(turn.error is None for turn in run.turns)
    assert result.summary.turns == len(run.turns)
    assert result.summary.counters["hung_up_turns"] == len(chosen)
    shown = live_json(result)["load"]
    assert isinstance(shown, dict)
    assert shown["hung_up"] == Counter(turn.load.hung_up for turn in run.aside if turn.load)
    assert "hung up" in live_lines(result)
    (note,) = [note for note in build_report(run.path).notes if note.startswith("Hung up")]
    assert f"{len(chosen)} turns" in note
    # Each has one judgement, which judges nothing, and one row of the table.
    assert len(read_turns(Path(result.summary.run_dir, "turns.parquet"))) == 24
    lines = Path(result.summary.run_dir, "findings.jsonl").read_text().splitlines()
    assert len(lines) == 24


async def run_against(server: FaultServer, shape: LoadShape, store: Path) -> LiveResult:
    asked = request("http://127.0.0.1:1/v1", store=store, load=shape)
    async with serving(server):
        target = dataclasses.replace(asked.target, base_url=server.url)
        return await LiveRun(dataclasses.replace(asked, target=target)).run()


@pytest.mark.asyncio
async def test_others_are_judged_as_always(tmp_path: Path) -> None:
    """A wrong answer to a turn that nobody hung up upon is found; one that was left counts nowhere."""
    shape = churned(0.3, "first-token")
    answers = answers_of(workload_of(request("http://127.0.0.1:1/v1", load=shape)))
    left = {name for name in answers if Churn(0.3, ("first-token",)).phase_of(SEED, int(name[1:5]), int(name[7:]))}
    stays = sorted(answers.keys() - left)[:3]
    wrong = {
        name: (tool, '{"never": "planted"}') for name, (tool, _) in answers.items() if name in left or name in stays
    }
    # The first piece, and then nothing: whoever waits for more is not the client that hangs up.
    server = FaultServer({**answers, **wrong}, dict.fromkeys(left, "hang"))
    result = await run_against(server, shape, tmp_path)
    assert {turn.request_id for turn, judged in zip(result.turns, result.judgements, strict=True)
            if judged.verdict is Verdict.VIOLATED} == set(stays)  # fmt: skip
    assert (result.summary.turns, result.summary.turns_corrupted) == (24 - len(left), 3)
    assert result.summary.turns_unknown == 0
    run = open_run(Path(result.summary.run_dir))
    assert [judged.is_corrupted for judged in judge_run(run)].count(True) == 3
    assert gather_run(run.path).summary.turns_corrupted == 3
    assert result.exit_code() == 1


@pytest.mark.asyncio
async def test_many_that_we_left_are_no_storm_of_errors(tmp_path: Path) -> None:
    shape = churned(0.9, "first-token", sessions=16)
    answers = answers_of(workload_of(request("http://127.0.0.1:1/v1", load=shape)))
    left = {name for name in answers if Churn(0.9, ("first-token",)).phase_of(SEED, int(name[1:5]), int(name[7:]))}
    assert len(left) > 40
    result = await run_against(FaultServer(answers, dict.fromkeys(left, "hang")), shape, tmp_path)
    assert (result.stopped_by, result.summary.turns) == (None, 48 - len(left))


@pytest.mark.asyncio
@pytest.mark.parametrize("is_planted", [False, True])
async def test_warm_up_is_in_no_rate_and_hides_nothing(is_planted: bool, tmp_path: Path) -> None:
    shape = dataclasses.replace(load_shape("closed", 8, None, None), warm_up=WarmUp(sessions=3))
    answers = answers_of(workload_of(request("http://127.0.0.1:1/v1", load=shape)))
    if is_planted:
        tool, _ = answers["s0001-t01"]
        answers["s0001-t01"] = (tool, '{"never": "planted"}')
    result = await run_against(FaultServer(answers), shape, tmp_path)
    assert (result.summary.turns, result.summary.turns_corrupted, result.summary.sessions) == (15, 0, 5)
    assert len(result.turns) == 15
    assert result.load.warm_up_turns == 9
    assert result.load.warm_up_corrupted == is_planted
    # In the run itself, and wherever the folder is read again.
    for summary in (result.summary, gather_run(Path(result.summary.run_dir)).summary):
        # This server answers in one piece, so that nobody can tell whether requests overlapped: never clean.
        assert summary.verdict is (RunVerdict.CORRUPT if is_planted else RunVerdict.UNKNOWN)
        assert ("1 of 9 turns of the warm-up are corrupted" in summary.verdict_reason) == is_planted
    assert result.exit_code() == (1 if is_planted else 4)
    run = open_run(Path(result.summary.run_dir))
    assert (run.faults, len(run.turns), len(run.aside)) == ((), 15, 9)
    assert all(turn.load is not None and turn.load.is_warm_up for turn in run.aside)
    (note,) = [note for note in build_report(run.path).notes if note.startswith("Warm-up")]
    assert note == f"Warm-up: 9 turns in no rate and no latency, {int(is_planted)} of them corrupted."


@pytest.mark.asyncio
async def test_nothing_left_to_judge_is_said(tmp_path: Path) -> None:
    shape = dataclasses.replace(load_shape("closed", 8, None, None), warm_up=WarmUp(duration_s=3600.0))
    answers = answers_of(workload_of(request("http://127.0.0.1:1/v1", load=shape)))
    result = await run_against(FaultServer(answers), shape, tmp_path)
    assert (result.summary.verdict, result.summary.turns, result.latency.ttft_p50) == (RunVerdict.UNKNOWN, 0, None)
    assert result.latency.gaps == 0
    assert "all 24 turns were sent in the warm-up" in result.summary.verdict_reason
    assert "all 24 turns" in gather_run(Path(result.summary.run_dir)).summary.verdict_reason
    assert result.exit_code() == 4


@pytest.mark.asyncio
async def test_pattern_over_sockets_keeps_its_order_and_its_phases(tmp_path: Path) -> None:
    """A wrong answer to a turn that returns is told under that phase, in the run's JSON and in its report."""
    shape = dataclasses.replace(load_shape("closed", 8, None, None), pattern=Pattern("evict-return", 2))
    asked = request("http://127.0.0.1:1/v1", load=shape)
    answers = answers_of(workload_of(asked))
    answers["s0001-t02"] = (answers["s0001-t02"][0], '{"never": "planted"}')
    server = FaultServer(answers, usage={"prompt_tokens": 100, "completion_tokens": 9})
    result = await run_against(server, shape, tmp_path)
    returning, others = range(3), range(3, 8)
    waves = [(returning, 0), (returning, 1), (others, 0), (returning, 2), (others, 1), (others, 2)]
    assert list(server.asked) == [f"s{session:04d}-t{turn:02d}" for sessions, turn in waves for session in sessions]
    load = live_json(result)["load"]
    assert isinstance(load, dict)
    assert {phase: (one["judged"], one["corrupted"]) for phase, one in load["phases"].items()} == {
        "cold": (3, 0), "warm": (3, 0), "evict": (15, 0), "return": (3, 1),
    }  # fmt: skip
    assert result.summary.counters["requests_in_flight_max"] == 2
    notes = build_report(Path(result.summary.run_dir)).notes
    assert "Phase return: 1 of 3 judged turns corrupted, cached tokens unknown of 100 on average." in notes
