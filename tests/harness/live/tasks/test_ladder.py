"""Models that can do only so much: the ladder ends at their rung, says it aloud, and the run asks just that."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stubs.behaviour import Behaviour
from harness.cli.main import main
from harness.live.tasks.choosing import choose
from harness.live.tasks.ladder import TRIES, Climbed, Rung, rungs_of
from harness.live.tasks.task import Task
from results.reader import open_run
from results.rejudge import judge_run
from tests.harness.live.live_requests import SMALL
from tests.harness.live.serial.stub_runs import WatchedEngine, engine, serving

WORKLOAD = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
SIZES = ["--sessions", "8", "--max-tokens", "64", "--seed", "5", "--quiet", *WORKLOAD]
SHORT = ["--prompt-tokens", "1800"]


@contextmanager
def in_a_thread(model: WatchedEngine, **doors: Any) -> Iterator[str]:
    """The stub on a loop of its own, so that a command can have the main thread."""
    loop, ready, stop, urls = asyncio.new_event_loop(), threading.Event(), asyncio.Event(), []

    async def live() -> None:
        async with serving(model, **doors) as url:
            urls.append(url)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(live()))
    thread.start()
    assert ready.wait(20)
    try:
        yield urls[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()


def climbed(task: Task, right: int, asked: int = TRIES, *, is_short: bool = False) -> Climbed:
    return Climbed(Rung(task, 1_800, is_short), asked, right)


def test_rungs_go_from_hard_to_easy() -> None:
    rungs = rungs_of(tokens=24_000, may_shorten=True)
    assert [(rung.task, rung.tokens) for rung in rungs] == [
        (Task.CALL, 24_000), (Task.CALL, 1_800), (Task.NAMED_CALL, 1_800), (Task.WORD, 1_800), (Task.REPEAT, 1_800),
    ]  # fmt: skip
    said = rungs_of(tokens=24_000, may_shorten=False)
    assert [(rung.task, rung.tokens, rung.is_short) for rung in said][:2] == [
        (Task.CALL, 24_000, False), (Task.NAMED_CALL, 24_000, False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "asked", "is_mastered"),
    [(4, 4, True), (3, 4, False), (8, 8, True), (7, 8, True), (6, 8, False), (0, 0, False)],
)
def test_nearly_all_must_be_right(right: int, asked: int, is_mastered: bool) -> None:
    assert climbed(Task.CALL, right, asked).is_mastered is is_mastered


def test_wrong_answers_from_a_cache_are_not_held_against_the_model() -> None:
    rung = Rung(Task.CALL, 1_800, is_short=False)
    assert Climbed(rung, 2, 2, doubtful=2).is_mastered
    assert not Climbed(rung, 0, 0, doubtful=4).is_mastered
    assert not Climbed(rung, 2, 1, doubtful=2).is_mastered
    assert "2 more were wrong on cached pages" in Climbed(rung, 2, 2, doubtful=2).words


@pytest.mark.parametrize("can_flush", [True, False])
def test_broken_cache_is_found_whatever_the_task(
    can_flush: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second run finds its first questions in the cache, unless that is emptied: the stub knows no salt."""
    with in_a_thread(engine(breaks=1.0), can_flush=can_flush) as url:
        command = ["stress", "--base-url", url, *SIZES, *SHORT, "--out", str(tmp_path), "--serial-check", "0"]
        assert [main(command), main(command)] == [1, 1]
    notes = capsys.readouterr().err
    assert ("does not master" in notes) is not can_flush
    assert ("or the cache's" in notes) is not can_flush


def test_what_was_found_is_said() -> None:
    best = choose([climbed(Task.CALL, 4)])
    assert (best.task, best.is_short, best.notes) == (Task.CALL, False, ())
    lower = choose([climbed(Task.CALL, 1), climbed(Task.WORD, 4, is_short=True)])
    assert (lower.task, lower.is_short, len(lower.notes)) == (Task.WORD, True, 2)
    assert "does not master this: recall a call" in lower.notes[0]
    assert "1 of 4 right alone (1-81 %)" in lower.notes[0]
    assert lower.notes[1].startswith("so the sessions are to say the secret word")
    none = choose([climbed(Task.CALL, 0), climbed(Task.REPEAT, 2)])
    assert none.task is Task.NONE
    assert none.notes[-1].startswith("so --task none: ")


@pytest.mark.parametrize(
    ("traits", "words", "task"),
    [
        ({}, SHORT, "call"),
        ({"calls": False}, SHORT, "word"),
        ({"calls": False, "words": False}, SHORT, "repeat"),
        # Of a model that does not see far, prompts are made shorter, unless somebody wants them long.
        ({"sees": 12_000}, [], "call"),
        ({"sees": 12_000}, ["--prompt-tokens", "4000"], "repeat"),
    ],
)
def test_a_run_asks_what_the_model_masters(
    traits: dict[str, Any], words: list[str], task: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = engine(**traits)
    with in_a_thread(model) as url:
        command = ["stress", "--base-url", url, *SIZES, *words, "--json", "--out", str(tmp_path), "--serial-check", "4"]
        assert main(command) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    run = open_run(Path(found["run_dir"]))
    assert run.manifest.configuration["task"] == task
    assert ("note: alone, the model does not master this" in shown.err) == (task != "call" or not words)
    assert found["verdict"] == "clean"
    assert found["turns_known"] == found["turns"] == 24
    assert (f"--task {task}" in found["repeat"]) == (task != "call")
    assert ("--prompt-tokens 1800" in found["repeat"]) == (words in ([], SHORT))
    # From the folder alone the same is judged again.
    assert all(judgement.verdict == "ok" for judgement in judge_run(run))


def test_corruption_of_words_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with in_a_thread(engine(Behaviour.CORRUPT)) as url:
        command = ["stress", "--base-url", url, *SIZES, *SHORT, "--task", "word", "--json", "--out", str(tmp_path)]
        assert main(command) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["served_alone"]["verdict"] == "violated"
    assert set(found["kinds"]) <= {"wrong_word", "token_salad"}


def test_server_without_tools_is_asked_for_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with in_a_thread(engine(), refuse=lambda body: "tools" in body) as url:
        command = ["stress", "--base-url", url, *SIZES, *SHORT, "--out", str(tmp_path)]
        assert main([*command, "--serial-check", "0"]) == 0
        assert "takes no tools" in capsys.readouterr().err
        assert main([*command, "--task", "call"]) == 3
    (folder,) = tmp_path.iterdir()
    assert open_run(folder).manifest.configuration["task"] == "word"


def test_no_known_answer_still_tells_salad_and_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with in_a_thread(engine(Behaviour.CORRUPT)) as url:
        command = ["stress", "--base-url", url, *SIZES, *SHORT, "--task", "none", "--json", "--out", str(tmp_path)]
        assert main(command) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["turns_known"] == 0
    assert found["served_alone"]["verdict"] == "violated"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--task", "sing"], "'sing' is not one of 'auto', 'call'"),
        (["--rescore", "--serial-check", "0"], "--rescore needs turns that are asked again"),
        (["--serial-check", "-1"], "--serial-check"),
        (["--rescore", "--arm", "a=http://127.0.0.1:1/v1", "--arm", "b=http://127.0.0.1:1/v1"], "--rescore needs"),
    ],
)
def test_wrong_words(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    server = [] if "--arm" in words else ["--base-url", "http://127.0.0.1:1/v1"]
    assert main(["stress", *server, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_probe_ends_at_the_models_rung(capsys: pytest.CaptureFixture[str]) -> None:
    with in_a_thread(engine(calls=False)) as url:
        assert main(["probe", "--base-url", url, "--concurrency", "2", "--quiet", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    asked = {one["question"]: one for one in shown["answers"] if one["question"].startswith("task: ")}
    assert {name: one["answer"] for name, one in asked.items()} == {
        "task: call, 16,000 tokens": "no", "task: call, 1,800 tokens": "no", "task: named-call, 1,800 tokens": "no",
        "task: word, 1,800 tokens": "yes",
    }  # fmt: skip
    assert asked["task: word, 1,800 tokens"]["detail"] == "8 of 8 right alone (63-100 %)"
    assert any("masters alone is 'word' at 1,800 tokens" in line for line in shown["proves"])
    assert not any(line.startswith("A wrong call is corruption") for line in shown["proves"])
