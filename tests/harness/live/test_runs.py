"""Whole live runs in one event loop with a server that goes wrong: nothing lost, doubled, or called corrupt."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path

import pytest

from harness.live.arrivals import load_shape
from harness.live.credentials import Credentials
from harness.live.limits import Limits
from harness.live.outcome import LiveResult, live_json
from harness.live.request import LiveRequest, Patience
from harness.live.rounds import planned_tokens
from harness.live.run import LiveRun
from harness.live.serial.settings import SerialSettings
from kernels.errors import ConfigError
from results.errors import StorageProblem
from results.findings import Verdict
from results.reader import open_run
from results.verdict import RunVerdict
from tests.harness.live.fault_server import HARMFUL, HARMLESS, FaultServer, answers_of, serving
from tests.harness.live.live_requests import request, workload_of
from tests.harness.rig import served

pytestmark = pytest.mark.asyncio

KEY = "sk-" + "very-secret-0123456789/abc"


async def run_against(server: FaultServer, asked: LiveRequest) -> LiveResult:
    """`asked` with the server's address, which is known only now."""
    async with serving(server):
        target = dataclasses.replace(asked.target, base_url=server.url)
        return await LiveRun(dataclasses.replace(asked, target=target)).run()


@pytest.mark.parametrize("transport", ["raw", "aiohttp", "openai"])
async def test_every_fault_is_told_for_what_it_is(tmp_path: Path, transport: str) -> None:
    # The official client decodes a stream itself and does not show what an odd end was.
    harmful = [fault for fault in HARMFUL if transport != "openai" or fault not in ("too_short", "json_error_200")]
    asked = request(
        "http://127.0.0.1:1/v1", store=tmp_path, transport=transport, patience=Patience(5.0, 1.5),
        load=load_shape("closed", 24, None, None),
    )  # fmt: skip
    answers = answers_of(workload_of(asked))
    kinds = [*HARMLESS, *harmful]
    # One in four, so that it is no storm.
    faults = dict(zip(list(answers)[::4], kinds, strict=False))
    server = FaultServer(answers, faults)
    result = await run_against(server, asked)
    assert sorted(turn.request_id for turn in result.turns) == sorted(answers)
    verdicts = {turn.request_id: judged.verdict for turn, judged in zip(result.turns, result.judgements, strict=True)}
    for name, verdict in verdicts.items():
        fault = faults.get(name, "ok")
        assert verdict is (Verdict.UNKNOWN if fault in harmful else Verdict.OK), (fault, verdict)
    assert result.summary.turns_corrupted == 0
    assert result.summary.turns_unknown == len(harmful)
    assert result.summary.verdict is RunVerdict.UNKNOWN
    run = open_run(Path(result.summary.run_dir))
    assert (run.faults, run.is_partial, len(run.turns)) == ((), False, len(answers))
    assert result.summary.counters["pauses_asked_for"] == 1
    assert server.asked.total() >= len(answers) + 1


async def test_all_clients_leave_the_same_records() -> None:
    def plain(result: LiveResult) -> list[dict[str, object]]:
        times = dict.fromkeys(("scheduled_ns", "sent_ns", "first_token_ns", "finished_ns"))
        return sorted(
            (dataclasses.asdict(turn) | times for turn in result.turns), key=lambda turn: str(turn["request_id"])
        )

    found = []
    for transport in ("raw", "aiohttp", "openai"):
        asked = request("http://127.0.0.1:1/v1", transport=transport)
        answers = answers_of(workload_of(asked))
        found.append(await run_against(FaultServer(answers), asked))
    assert {judged.verdict for judged in found[0].judgements} == {Verdict.OK}
    assert plain(found[0]) == plain(found[1]) == plain(found[2])


async def test_wrong_answers_are_found_and_only_those() -> None:
    asked = request("http://127.0.0.1:1/v1")
    answers = answers_of(workload_of(asked))
    names = list(answers)
    # The answer of another session: a right call at the wrong place.
    wrong = {**answers, names[0]: answers[names[-1]], names[4]: (answers[names[4]][0], '{"made": "up"}')}
    result = await run_against(FaultServer(wrong), asked)
    corrupted = {judged.key for judged in result.judgements if judged.is_corrupted}
    assert corrupted == {turn.key for turn in result.turns if turn.request_id in (names[0], names[4])}
    assert (result.summary.verdict, result.exit_code()) == (RunVerdict.CORRUPT, 1)
    assert live_json(result)["stale_reads"] is None


async def test_server_that_dies_ends_the_run_and_what_was_done_is_kept(tmp_path: Path) -> None:
    asked = request("http://127.0.0.1:1/v1", store=tmp_path, load=load_shape("closed", 40, None, None))
    server = FaultServer(answers_of(workload_of(asked)), dies_after=30)
    result = await run_against(server, asked)
    assert result.stopped_by is not None
    assert result.stopped_by.startswith("error storm: ")
    assert result.exit_code() == 4
    run = open_run(Path(result.summary.run_dir))
    assert run.is_partial
    assert 30 <= len(run.turns) < 120
    assert len({turn.key for turn in run.turns}) == len(run.turns)
    assert result.summary.turns_corrupted == 0


async def test_server_that_asks_for_an_hour_is_left_alone() -> None:
    asked = request("http://127.0.0.1:1/v1")
    answers = answers_of(workload_of(asked))
    server = FaultServer(answers, dict.fromkeys(answers, "slow_down"), retry_after="3600")
    result = await run_against(server, asked)
    assert result.stopped_by == "the server asks its clients to stay away for 3,600 s"
    assert result.exit_code() == 4
    assert server.asked.total() <= 8


async def test_key_is_sent_and_is_in_no_artifact(tmp_path: Path) -> None:
    credentials = Credentials(KEY, {"X-Team-Token": "team-secret-header"}, "--api-key-env K")
    asked = request("http://127.0.0.1:1/v1", store=tmp_path, credentials=credentials, serial=SerialSettings(16))
    answers = answers_of(workload_of(asked))
    leaky = {**answers, next(iter(answers)): ("say", f'{{"key": "{KEY}", "head": "team-secret-header"}}')}
    for server in (FaultServer(leaky), FaultServer(answers, refuses_key=True)):
        result = await run_against(server, asked)
        assert any(KEY.encode() in top for top in server.heads)
        assert any(b"team-secret-header" in top for top in server.heads)
        assert result.turns
    shown = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(shown) >= 18
    for path in shown:
        assert KEY.encode() not in path.read_bytes(), path
        assert b"team-secret-header" not in path.read_bytes(), path
    assert any(b"[secret]" in path.read_bytes() for path in shown)
    assert KEY not in repr(credentials) + repr(asked.transport_options())


async def test_no_session_begins_when_the_time_is_over(tmp_path: Path) -> None:
    asked = request("http://127.0.0.1:1/v1", store=tmp_path, load=load_shape("closed", 2, None, 0.01))
    result = await run_against(FaultServer(answers_of(workload_of(asked))), asked)
    assert result.stopped_by == "the duration is over"
    run = open_run(Path(result.summary.run_dir))
    # Those that had begun were brought to their end.
    assert (run.faults, run.is_partial, len(run.turns)) == ((), False, 3 * len(run.sessions))


async def test_full_disk_ends_a_lasting_run_with_its_own_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageProblem(tmp_path, OSError(28, "No space left on device"))

    asked = request("http://127.0.0.1:1/v1", store=tmp_path, load=load_shape("closed", 2, None, 60.0))
    answers = answers_of(workload_of(asked))
    monkeypatch.setattr("results.store.RunWriter.append", full)
    with pytest.raises(StorageProblem, match="is full"):
        await run_against(FaultServer(answers), asked)


async def test_budget_is_never_passed(tmp_path: Path) -> None:
    asked = request("http://127.0.0.1:1/v1", limits=Limits(1_000))
    with pytest.raises(ConfigError, match="more than the 1,000 allowed"):
        LiveRun(asked)
    lasting = request(
        "http://127.0.0.1:1/v1", store=tmp_path, limits=Limits(11_000), load=load_shape("closed", 2, None, 60.0)
    )
    result = await run_against(FaultServer(answers_of(workload_of(lasting))), lasting)
    assert result.stopped_by == "the token budget is spent"
    assert result.tokens_spent <= 11_000
    run = open_run(Path(result.summary.run_dir))
    assert (run.faults, run.is_partial) == ((), False)
    # Two sessions at once, yet more of them in all: later rounds have numbers, secrets and tools of their own.
    sessions = {session.session for session in run.sessions}
    assert len(sessions) > 4
    assert {turn.session for turn in run.turns} == sessions
    assert len({session.secrets for session in run.sessions}) == len(sessions)
    assert run.manifest.session_count == len(sessions)


async def test_server_that_counts_more_tokens_than_the_plan_is_stopped() -> None:
    asked = request("http://127.0.0.1:1/v1")
    answers = answers_of(workload_of(asked))
    planned = sum(planned_tokens(plan, 64) for plan in workload_of(asked).sessions)
    server = FaultServer(answers, usage={"prompt_tokens": planned, "completion_tokens": 1})
    result = await run_against(server, dataclasses.replace(asked, limits=Limits(planned)))
    assert (result.stopped_by, result.exit_code()) == ("the token budget is spent", 4)
    assert len(result.turns) <= 8


@pytest.mark.parametrize("kind", ["constant", "poisson"])
async def test_open_loop_counts_from_the_intended_time(kind: str) -> None:
    load = load_shape(kind, 8, 100.0, None)  # type: ignore[arg-type]
    asked = request("http://127.0.0.1:1/v1", load=load)
    result = await run_against(FaultServer(answers_of(workload_of(asked))), asked)
    begins = sorted(turn.scheduled_ns for turn in result.turns if turn.turn == 0)
    gaps = [later - earlier for earlier, later in pairwise(begins)]
    assert begins[0] == 0
    assert all(turn.sent_ns >= turn.scheduled_ns for turn in result.turns)
    if kind == "constant":
        assert gaps == [10_000_000] * 7
    else:
        assert len(set(gaps)) == 7


async def test_interrupted_run_is_kept(tmp_path: Path) -> None:
    asked = request("http://127.0.0.1:1/v1", store=tmp_path)
    answers = answers_of(workload_of(asked))
    async with serving(FaultServer(answers, dict.fromkeys(list(answers)[5:], "hang"))) as server:
        target = dataclasses.replace(asked.target, base_url=server.url)
        live: list[LiveRun] = []
        live.append(LiveRun(dataclasses.replace(asked, target=target, on_progress=lambda _: _stop(live, server))))
        result = await live[0].run()
    assert (result.exit_code(), result.stopped_by) == (130, "interrupted")
    assert open_run(Path(result.summary.run_dir)).is_partial
    assert result.turns


def _stop(live: list[LiveRun], server: FaultServer) -> None:
    if server.asked.total() >= 6:
        live[0].stop()


async def test_against_our_own_pair() -> None:
    async with served() as (pair, _):
        asked = request(pair.base_url, model=pair.options.model.name)
        result = await LiveRun(asked).run()
    assert len(result.turns) == 24
    assert all(turn.error is None for turn in result.turns)
    assert result.summary.turns_corrupted == 0
    assert result.lag.loop_p99 is not None
    assert result.latency.streams_max >= 1
