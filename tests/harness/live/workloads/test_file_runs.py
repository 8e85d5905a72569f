"""Whole runs of every format, against the fake pair and against a server that goes wrong."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.live.arrivals import LoadShape, load_shape
from harness.live.limits import Limits
from harness.live.outcome import LiveResult, live_json
from harness.live.request import LiveRequest
from harness.live.run import LiveRun
from harness.live.workload import live_workload
from harness.live.workloads.formats import file_workload
from results.comparison.comparison import compare
from results.comparison.sides import open_named
from results.findings import Verdict
from results.reader import open_run
from results.rejudge import judge_run
from results.report.markdown import render_markdown
from results.report.model import build_report
from tests.harness.live.fault_server import FaultServer
from tests.harness.live.live_requests import request
from tests.harness.live.test_runs import run_against
from tests.harness.live.workloads.small_files import captured, lines, rounds, row, sharegpt, whole
from tests.harness.live.workloads.test_captured import HELLO, capture, exchange, grown
from tests.harness.rig import served

pytestmark = pytest.mark.asyncio


def asked(words: str, *, sessions: int = 3, load: LoadShape | None = None, **changes: Any) -> LiveRequest:
    load = load or load_shape("closed", sessions, None, None)
    files = file_workload(words, plant=changes.pop("plant", None), block_tokens=None)
    spec = live_workload(load, source="builtin", prompt_tokens=None, overrides={"workload.start_spread_s": "0"})
    return request("http://127.0.0.1:1/v1", load=load, workload=spec, files=files, **changes)


async def against_the_pair(one: LiveRequest) -> LiveResult:
    async with served() as (pair, _):
        target = dataclasses.replace(one.target, base_url=pair.base_url)
        return await LiveRun(dataclasses.replace(one, target=target, model=pair.options.model.name)).run()


def trace(folder: Path) -> str:
    rows = [row([1, at, at + 50], session_id=f"s{at % 3}", timestamp=10 * at) for at in range(3, 9)]
    return f"mooncake:{lines(folder / 'trace.jsonl', rows)}"


def described(folder: Path) -> str:
    one = {"distribution": "constant", "value": 20}
    spec = {"filetype": "generate_conversations", "num_conversations": 3, "prompt_output": {"num_tokens": one},
            "prompt_input": {"num_turns": {"distribution": "constant", "value": 3}, "prefix_num_tokens": one,
                             "num_tokens": one}}  # fmt: skip
    return f"vllm-multiturn:{whole(folder / 'v.json', spec)}"


def recorded(folder: Path) -> str:
    other = grown(HELLO, "Hi", "Other")
    exchanges = [
        exchange(0, HELLO),
        exchange(20, grown(HELLO, "Hi", "More"), answer="I do not know."),
        exchange(30, other),
    ]
    return f"recorded:{capture(folder / 'cap', *exchanges)}"


FORMATS: dict[str, tuple[Callable[[Path], str], int, int, int]] = {
    # Words, turns, turns whose answer is known, replies that have a recorded answer.
    "mooncake": (trace, 6, 6, 0),
    "sharegpt": (lambda folder: f"sharegpt:{sharegpt(folder / 's.json')}", 6, 0, 6),
    "openai-messages": (lambda folder: f"openai-messages:{captured(folder / 'c.jsonl')}", 3, 0, 2),
    "vllm-multiturn": (described, 6, 0, 0),
    "recorded": (recorded, 3, 0, 3),
}


@pytest.mark.parametrize("name", FORMATS)
async def test_every_format_runs_and_its_folder_is_read_again(name: str, tmp_path: Path) -> None:
    words, turns, known, compared = FORMATS[name]
    sessions = 2 if name == "recorded" else 3
    result = await against_the_pair(asked(words(tmp_path), sessions=sessions, store=tmp_path / "runs"))
    summary = result.summary
    # Whether so fast a pair counts as exercised depends on this machine, so the verdict itself is not asked for.
    assert (summary.turns_corrupted, summary.turns_unknown) == (0, 0), summary.verdict_reason
    assert (summary.turns, summary.turns_judged, summary.turns_known) == (turns, turns, known)
    assert result.workload.recorded == compared
    run = open_run(Path(summary.run_dir))
    assert (run.faults, run.is_partial) == ((), False)
    assert {judged.verdict for judged in judge_run(run)} == {Verdict.OK}
    assert str(run.manifest.configuration["workload"]["source"]).startswith(f"{name}:")
    report = render_markdown(build_report(run.path))
    assert ("had no known answer" in report) == (known < turns)
    assert live_json(result)["turns_known"] == known
    again = shutil.copytree(run.path, tmp_path / "again")
    assert compare(open_named(str(run.path)), open_named(str(again))).answer.exit_code in (0, 4)


async def test_the_planted_call_of_a_trace_is_held_against_the_reply(tmp_path: Path) -> None:
    one = asked(trace(tmp_path))
    plans = rounds(one.files.words, 3, seed=one.seed).build(0).sessions if one.files else ()
    answers = {
        f"s{plan.session:04d}-t{turn:02d}": (planned.expected.name, planned.expected.arguments_text)
        for plan in plans
        for turn, planned in enumerate(plan.turns)
        if planned.expected is not None
    }
    assert len(answers) == 6
    sound = await run_against(FaultServer(answers), one)
    assert (sound.summary.turns_corrupted, sound.summary.turns_judged, sound.summary.turns_known) == (0, 6, 6)
    names = list(answers)
    another = next(answer for answer in answers.values() if answer != answers[names[0]])
    wrong = {**answers, names[0]: another, names[3]: (answers[names[3]][0], '{"never": "planted"}')}
    found = await run_against(FaultServer(wrong), one)
    corrupted = {
        turn.request_id for turn, judged in zip(found.turns, found.judgements, strict=True) if judged.is_corrupted
    }
    assert corrupted == {names[0], names[3]}


async def test_a_foreign_word_is_proof_where_no_answer_is_known(tmp_path: Path) -> None:
    """The server calls a tool that nobody asked for: alone that proves nothing, with another session's word it does."""
    one = asked(f"sharegpt:{sharegpt(tmp_path / 's.json')}", store=tmp_path / "runs")
    plans = rounds(one.files.words, 3, seed=one.seed).build(0).sessions if one.files else ()
    foreign = plans[2].secrets[0]
    answers = {"s0000-t01": ("open_door", f'{{"door": "{foreign}"}}')}
    found = await run_against(FaultServer(answers), one)
    assert {
        turn.request_id for turn, judged in zip(found.turns, found.judgements, strict=True) if judged.is_corrupted
    } == {"s0000-t01"}
    assert found.summary.kinds == {"cross_talk": 1}
    # The evidence of such a turn has nothing to be compared with.
    report = build_report(Path(found.summary.run_dir))
    assert [card.expected for card in report.evidence] == ["nobody knows the right answer of this turn"]
    assert foreign in render_markdown(report)


async def test_faults_of_a_server_are_no_corruption_without_answers_either(tmp_path: Path) -> None:
    one = asked(f"sharegpt:{sharegpt(tmp_path / 's.json', 10)}", sessions=10)
    faults = {"s0001-t00": "reset", "s0002-t01": "cut_call", "s0003-t00": "error_in_200", "s0004-t01": "server_error"}
    result = await run_against(FaultServer({}, faults), one)
    verdicts = {turn.request_id: judged.verdict for turn, judged in zip(result.turns, result.judgements, strict=True)}
    assert len(verdicts) == 20
    assert {name for name, verdict in verdicts.items() if verdict is Verdict.UNKNOWN} == set(faults)
    assert result.summary.turns_corrupted == 0


async def test_a_lasting_run_takes_the_next_sessions_and_begins_anew(tmp_path: Path) -> None:
    one = asked(
        f"sharegpt:{sharegpt(tmp_path / 's.json', 5)}", load=load_shape("closed", 2, None, 600.0),
        limits=Limits(9 * 400), store=tmp_path / "runs",
    )  # fmt: skip
    result = await run_against(FaultServer({}), one)
    assert result.stopped_by == "the token budget is spent"
    assert result.workload.passes >= 1
    run = open_run(Path(result.summary.run_dir))
    assert run.faults == ()
    assert len(run.sessions) == result.summary.sessions > 5
    assert result.summary.counters["workload_passes"] == result.workload.passes


async def test_a_trace_is_replayed_at_its_own_times(tmp_path: Path) -> None:
    rows = [row([at], timestamp=20 * at) for at in range(4)]
    one = asked(f"mooncake:{lines(tmp_path / 't.jsonl', rows)}", load=load_shape("trace", 4, None, None))
    result = await run_against(FaultServer({}), one)
    assert sorted(turn.scheduled_ns // 1_000_000 for turn in result.turns) == [0, 20, 40, 60]
