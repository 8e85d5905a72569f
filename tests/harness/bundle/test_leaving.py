"""A run whose clients hang up, and its script: the server sees the same clients go, at the same places."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import lzma
from pathlib import Path
from statistics import median

import pytest

from harness.bundle.leaving import Leave, leaves_of
from harness.bundle.script import ScriptFacts, render
from harness.live.arrivals import load_shape
from harness.live.load.churn import Churn
from harness.live.run import LiveRun
from harness.transport.hang_up import HangUpPhase
from results.reader import Run, open_run
from tests.harness.bundle.scripts import bundled, carried, constants, run_script
from tests.harness.live.fault_server import answers_of
from tests.harness.live.live_requests import request, workload_of
from tests.harness.transport.left_server import PIECES, Upto, left_server

WAYS: dict[HangUpPhase, Upto] = {"queued": "nothing", "prefill": "head", "first-token": 1, "mid-answer": 4}


async def churned(store: Path) -> tuple[Run, dict[str, Upto]]:
    """A run, and how far the server came with each request that was hung up upon."""
    shape = dataclasses.replace(load_shape("closed", 8, None, None), churn=Churn(0.4))
    asked = request("http://127.0.0.1:1/v1", store=store, load=shape)
    phases = {
        name: Churn(0.4).phase_of(asked.seed, int(name[1:5]), int(name[7:]))
        for name in answers_of(workload_of(asked))
    }  # fmt: skip
    upto = {name: WAYS[phase] for name, phase in phases.items() if phase is not None}
    async with left_server(upto) as server:
        target = dataclasses.replace(asked.target, base_url=server.url)
        result = await LiveRun(dataclasses.replace(asked, target=target)).run()
    return open_run(Path(result.summary.run_dir)), upto


@pytest.mark.asyncio
async def test_the_script_hangs_up_where_the_run_did(tmp_path: Path) -> None:
    run, upto = await churned(tmp_path)
    leaves = leaves_of(run)
    assert {f"s{session:04d}-t{turn:02d}" for session, turn in leaves} == set(upto)
    assert {leave.phase for leave in leaves.values()} == set(WAYS), "all phases are there"
    last = max(run.turns, key=lambda turn: turn.finished_ns or 0)
    script = bundled(run.path, "--turn", f"{last.session}:{last.turn}")
    in_it = {
        f"s{session['session']:04d}-t{number:02d}": turn["leave"]
        for session in carried(script)["sessions"] for number, turn in enumerate(session["turns"]) if "leave" in turn
    }  # fmt: skip
    assert in_it == {f"s{at:04d}-t{turn:02d}": leave.fields() for (at, turn), leave in leaves.items()
                     if f"s{at:04d}-t{turn:02d}" in in_it}  # fmt: skip
    assert len(in_it) > len(upto) // 2
    assert f"hung up on {len(upto)} requests on purpose; this script on {len(in_it)}." in constants(script)["DOC"]
    async with left_server(upto) as server:
        words = ("--base-url", server.url, "--pace", "0", "--rounds", "2", "--timeout", "20")
        ended = await asyncio.to_thread(run_script, script, *words)
        # The server waits for the client to go, and a script that stayed would have failed by its time-out.
        assert {name: await server.gone(name) for name in in_it} == {name: upto[name] for name in in_it}
        assert {server.asked[name] for name in in_it} == {2}
    assert f"{len(in_it)} left" in ended.out, ended
    assert "failed" not in ended.out
    assert "Traceback" not in ended.err


@pytest.mark.asyncio
async def test_a_reply_that_is_past_the_moment_is_heard_to_its_end(tmp_path: Path) -> None:
    """As in the run itself: text that comes before the time is over, and an answer that ends before its pieces."""
    turns = [{"messages": [0], "think_s": 0, "word": "piece", "leave": leave.fields()}
             for leave in (Leave("prefill", after_s=60.0), Leave("mid-answer", pieces=PIECES + 1))]  # fmt: skip
    payload = {"messages": [{"role": "user", "content": "x"}], "tools": [[]], "max_tokens": 9, "exact_replies": False,
               "sessions": [{"session": 0, "start_s": 0, "tools": 0, "turns": turns}]}  # fmt: skip
    packed = base64.b85encode(lzma.compress(json.dumps(payload).encode())).decode()
    facts = ScriptFacts("repro.py", "t", (), "m", 0, 0, "piece", "", "", 1)
    script = tmp_path / "repro.py"
    script.write_text(render(facts, {"SESSIONS": 1, "TURNS": 2, "PROMPT_TOKENS": 2, "PAYLOAD": packed}))
    async with left_server({}) as server:
        ended = await asyncio.to_thread(run_script, script, "--base-url", server.url)
    assert (ended.code, "2 right" in ended.out, server.left) == (0, True, {}), ended


def test_moments_follow_from_the_replies_before(tmp_path: Path) -> None:
    run, _ = asyncio.run(churned(tmp_path))
    shares = {"queued": 0.1, "prefill": 0.6}
    sent = {turn.key: turn.sent_ns for turn in run.aside}
    timed = {key: leave for key, leave in leaves_of(run).items() if leave.after_s is not None}
    assert {leave.phase for leave in timed.values()} == set(shares)
    for key, leave in timed.items():
        before = [
            (turn.first_token_ns - turn.sent_ns) / 1e9 for turn in run.turns
            if turn.first_token_ns is not None and turn.finished_ns is not None and turn.finished_ns <= sent[key]
        ]  # fmt: skip
        usual_s = median(before) if before else 0.25
        assert leave.after_s == pytest.approx(shares[leave.phase] * usual_s, abs=1e-6)
        assert leave.pieces is None
