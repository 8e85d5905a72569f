"""The whole check against stub models: sound, rounding, corrupt under load, weak, and caches that stay spoiled."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stubs.behaviour import Behaviour
from harness.live.limits import Limits
from harness.live.outcome import live_json
from harness.live.run import LiveRun
from harness.live.screen import live_lines
from harness.live.serial.settings import SerialSettings
from harness.simulation.run import RunProgress
from results.findings import Verdict
from results.reader import open_run
from results.report.gather import gather_run
from results.serial.record import Freshness, Pass, SerialRecord
from results.serial.store import read_replies, read_serial
from results.verdict import RunVerdict
from tests.harness.live.serial.stub_runs import checked, engine, serving, stub_request

pytestmark = pytest.mark.asyncio


def check_of(result: Any) -> SerialRecord:
    assert isinstance(result.serial, SerialRecord)
    return result.serial


@pytest.mark.parametrize(
    ("traits", "verdict", "code"),
    [
        ({}, Verdict.OK, 0),
        ({"behaviour": Behaviour.NUMERIC, "seed": 1}, Verdict.NUMERIC, 0),
        ({"behaviour": Behaviour.CORRUPT}, Verdict.VIOLATED, 1),
        ({"behaviour": Behaviour.REPEATABLE}, Verdict.VIOLATED, 1),
        ({"fails": 0.3}, Verdict.UNKNOWN, 4),
        ({"fails": 0.3, "is_fickle": True}, Verdict.UNKNOWN, 4),
        ({"spoils": 0.3}, Verdict.VIOLATED, 1),
    ],
)
async def test_every_model_is_told_for_what_it_is(traits: dict[str, Any], verdict: Verdict, code: int) -> None:
    result = await checked(engine(**traits), settings=SerialSettings(24))
    found = check_of(result)
    assert (found.verdict, result.exit_code()) == (verdict, code), found.reason
    assert found.freshness is Freshness.FLUSHED
    assert found.ended_by is None


@pytest.mark.parametrize(("is_timed", "verdict"), [(True, Verdict.VIOLATED), (False, Verdict.UNKNOWN)])
async def test_more_turns_are_asked_until_chance_is_ruled_out(is_timed: bool, verdict: Verdict) -> None:
    """Unless the user has said how many: then the reason says how many it takes."""
    result = await checked(engine(spoils=0.15), settings=SerialSettings(1, is_timed=is_timed))
    found = check_of(result)
    assert (found.verdict, found.is_explained) == (verdict, not is_timed), found.reason
    assert (found.sampled > 3) is is_timed
    assert ("--serial-check" in found.reason) is not is_timed
    assert result.exit_code() == (1 if is_timed else 4)


async def test_weak_models_wrong_turns_are_the_models(tmp_path: Path) -> None:
    result = await checked(engine(fails=0.08), store=tmp_path)
    found = check_of(result)
    assert 0 < result.summary.turns_corrupted == found.wrong == found.wrong_alone
    assert (found.verdict, found.is_explained) == (Verdict.OK, True)
    assert result.exit_code() == 0
    # Whoever reads the folder comes to the same verdict.
    assert gather_run(Path(result.summary.run_dir)).summary.verdict is RunVerdict.CLEAN


async def test_weak_and_corrupt_is_corrupt() -> None:
    result = await checked(engine(Behaviour.CORRUPT, fails=0.2))
    found = check_of(result)
    assert (found.verdict, found.is_trusted, result.exit_code()) == (Verdict.VIOLATED, False, 1), found.reason


@pytest.mark.parametrize("can_flush", [True, False])
async def test_spoiled_cache_is_not_taken_for_the_model(can_flush: bool) -> None:
    result = await checked(engine(spoils=0.3), can_flush=can_flush)
    found = check_of(result)
    if can_flush:
        assert (found.verdict, result.exit_code()) == (Verdict.VIOLATED, 1)
    else:
        # Its pages stay spoiled, and the stub tells that they came from the cache.
        assert found.wrong_alone == found.wrong_asked > 0
        assert (found.verdict, result.exit_code()) == (Verdict.UNKNOWN, 4)


@pytest.mark.parametrize("can_flush", [True, False])
async def test_cache_that_is_broken_without_load_is_not_taken_for_the_model(can_flush: bool) -> None:
    """Its turns come back wrong alone as well, unless each is asked on an empty cache."""
    result = await checked(engine(breaks=0.5), can_flush=can_flush, prompt_tokens=1_800)
    found = check_of(result)
    assert result.summary.turns_corrupted > 4
    if can_flush:
        assert (found.verdict, found.is_trusted, found.wrong_alone) == (Verdict.VIOLATED, True, 0), found.reason
        assert result.exit_code() == 1
    else:
        # The stub knows no salt either.
        assert found.wrong_alone > 4
        assert (found.verdict, result.exit_code()) == (Verdict.UNKNOWN, 4), found.reason


async def test_what_is_kept_on_the_disk(tmp_path: Path) -> None:
    result = await checked(engine(Behaviour.CORRUPT), store=tmp_path)
    folder = Path(result.summary.run_dir)
    found = check_of(result)
    assert read_serial(folder) == (found, None)
    replies, faults = read_replies(folder)
    assert (len(replies), faults) == (found.requests, [])
    assert {reply.how for reply in replies} == {Pass.ALONE, Pass.TOGETHER, Pass.ALONE_AGAIN}
    assert all(reply.turn.raw for reply in replies)
    run = open_run(folder)
    assert (run.faults, len(run.turns)) == ((), result.summary.turns)
    shown = live_json(result)["served_alone"]
    assert json.loads(json.dumps(shown))["verdict"] == "violated"
    assert "asked again" in live_lines(result)
    # Quiet replies are in no figure of latency.
    assert result.latency.gaps < 20 * result.summary.turns


async def test_alone_means_alone() -> None:
    model = engine()
    result = await checked(model)
    sample, passes = len(check_of(result).turns), model.met[result.summary.turns :]
    assert passes[:sample] == [1] * sample
    assert max(passes[sample : 2 * sample]) > 4
    # The last one is not the check's.
    assert passes[2 * sample : 3 * sample] == [1] * sample


async def test_progress_goes_on_after_the_load() -> None:
    seen: list[RunProgress] = []
    async with serving(engine()) as url:
        result = await LiveRun(stub_request(url).watched_by(seen.append)).run()
    asked = [progress.asked_again for progress in seen if progress.asked_again is not None]
    assert asked == list(range(1, check_of(result).requests + 1))
    assert seen[-1].load.turns_ended == result.summary.turns


async def test_server_that_takes_no_such_fields_is_asked_without_them() -> None:
    refused = {"logprobs", "cache_salt"}
    result = await checked(engine(), can_flush=False, refuse=lambda body: bool(refused & body.keys()))
    found = check_of(result)
    assert (found.verdict, found.freshness, len(found.turns)) == (Verdict.OK, Freshness.KEPT, 16)
    assert (found.noise_nats, found.noise_tokens) == (None, 0)
    only_salt = check_of(await checked(engine(), can_flush=False, refuse=lambda body: "logprobs" in body))
    assert only_salt.freshness is Freshness.SALTED


async def test_nothing_is_asked_while_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.live.serial.quiet.QUIET_S_MAX", 0.0)
    result = await checked(engine(), metrics='vllm:num_requests_running{model="m"} 3\n')
    found = check_of(result)
    assert (found.requests, found.verdict, found.ended_by) == (0, Verdict.UNKNOWN, "the server was never quiet")
    assert found.quiet == "3 requests of others were still running after 0 s"
    assert result.summary.verdict is RunVerdict.CLEAN
    quiet = check_of(await checked(engine(), metrics="vllm:num_requests_running 0\n", settings=SerialSettings(1)))
    assert (quiet.requests, quiet.quiet) == (3, "the server's own gauge told no running request")


async def test_interrupted_check_keeps_what_was_asked(tmp_path: Path) -> None:
    asked_alone = 0

    def stops(body: dict[str, Any]) -> bool:
        nonlocal asked_alone
        asked_alone += "logprobs" in body
        if asked_alone == 5:
            run.stop()
        return False

    async with serving(engine(), refuse=stops) as url:
        run = LiveRun(stub_request(url, store=tmp_path))
        result = await run.run()
    found = check_of(result)
    assert found.ended_by == "interrupted"
    assert 0 < found.requests <= 5
    assert result.exit_code() == 130
    assert read_serial(Path(result.summary.run_dir))[0] == found


async def test_budget_ends_the_check() -> None:
    whole = await checked(engine())
    spent = whole.tokens_spent
    result = await checked(engine(), limits=Limits(spent * 3 // 4))
    found = check_of(result)
    assert found.ended_by == "the token budget was spent"
    assert found.requests < check_of(whole).requests
    assert result.tokens_spent <= spent * 3 // 4


async def test_time_ends_the_check_unless_somebody_said_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "harness.live.serial.settings.SerialSettings.time_max_s",
        lambda settings, _load_s: 0.0 if settings.is_timed else float("inf"),
    )
    timed = check_of(await checked(engine()))
    assert (timed.ended_by, timed.requests) == ("the check's time was over", 0)
    asked = check_of(await checked(engine(), settings=SerialSettings(4, is_timed=False)))
    assert (asked.ended_by, asked.requests) == (None, 12)


async def test_dead_server_is_not_asked_for_ever() -> None:
    load_over = False

    def dies(body: dict[str, Any]) -> bool:
        nonlocal load_over
        load_over |= "logprobs" in body
        return load_over

    found = check_of(await checked(engine(), refuse=dies))
    assert found.ended_by == "3 requests in a row failed"
    assert found.verdict is Verdict.UNKNOWN


async def test_nothing_is_asked_again_unless_it_is_wanted() -> None:
    async with serving(engine()) as url:
        asked = dataclasses.replace(stub_request(url), serial=SerialSettings())
        result = await LiveRun(asked).run()
    assert result.serial is None
    assert live_json(result)["served_alone"] is None
