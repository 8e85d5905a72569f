"""Planting over real sockets: client, proxy and a sound server, and the commands as a user types them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.live.request import Patience
from harness.live.run import LiveRun
from harness.planting.dosing import Dosing, doses_of
from harness.planting.found import compare
from harness.planting.planter import Planter
from harness.planting.truth import Planted
from harness.proxy.passing import ReverseProxy
from tests.harness.cli.child import child
from tests.harness.live.fault_server import FaultServer, answers_of, serving
from tests.harness.live.live_requests import request, workload_of
from tests.harness.rig import post

SEED = 23
UPSTREAM = ("--upstream", "http://127.0.0.1:1/v1")


@pytest.mark.asyncio
async def test_run_behind_the_proxy_finds_what_was_planted_and_nothing_else() -> None:
    asked = request("http://127.0.0.1:1/v1", patience=Patience(5.0, 1.5))
    planted: list[Planted] = []
    doses = doses_of(["crash=10%", "hang=10%", "all=50%"])
    planter = Planter(Dosing(doses, SEED), on_planted=planted.append)
    server = FaultServer(answers_of(workload_of(asked)))
    async with serving(server), ReverseProxy(server.url, watch=planter.watch) as proxy:
        target = dataclasses.replace(asked.target, base_url=proxy.base_url)
        result = await LiveRun(dataclasses.replace(asked, target=target)).run()
    named = [(turn.request_id, judged) for turn, judged in zip(result.turns, result.judgements, strict=True)]
    found = compare(planted, named)
    assert len(named) == 24
    assert len(planted) >= 8, (SEED, planter.tally)
    assert found.alarms == ()
    assert (found.absent, found.turns) == (0, 24)
    # Over sockets a reset and a silence are real ones.
    assert {"crash", "hang"} & set(found.faults), (SEED, planted)
    assert found.missed <= sum(one.fault in ("token_salad", "cross_talk") for one in planted), (SEED, found)
    assert result.summary.turns_corrupted == sum(row.found for row in found.faults.values() if row.fault.is_corruption)


@pytest.mark.asyncio
async def test_commands_from_planting_to_the_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = tmp_path / "truth.jsonl"
    asked = request("http://127.0.0.1:1/v1", store=tmp_path / "runs")
    server = FaultServer(answers_of(workload_of(asked)))
    words = ["--fault", "lost_call=30%", "--truth", str(truth), "--spare-first", "1", "--json", "--seed", str(SEED)]
    async with serving(server):
        with child("plant", "--upstream", server.url, *words) as proxy:
            base_url = json.loads(proxy.first_line("stdout"))["base_url"]
            assert (await post(f"{base_url}/embeddings", {}))[0] == 404
            target = dataclasses.replace(asked.target, base_url=base_url)
            result = await LiveRun(dataclasses.replace(asked, target=target)).run()
            proxy.interrupt()
            ended = proxy.end()
    assert (ended.code, ended.err) == (0, "")
    counts = json.loads(ended.out)
    lines = [json.loads(line) for line in truth.read_text().splitlines()]
    assert counts["replies"] == 24
    assert counts["planted"] == {"lost_call": len(lines)}
    assert len(lines) >= 2
    capsys.readouterr()
    assert main(["planted", result.summary.run_dir, str(truth), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["faults"]["lost_call"] == {
        "symptom": "S4", "planted": len(lines), "found": len(lines), "right": len(lines),
        "called": {"lost_call": len(lines)},
    }  # fmt: skip
    assert (told["false_alarms"], told["missed"], told["absent"], told["turns"]) == (0, 0, 0, 24)
    # A run that was damaged, held against a file that knows of nothing: every damage is then a false alarm.
    other = tmp_path / "other.jsonl"
    other.write_text('{"request_id": "elsewhere", "fault": "hang", "strength": "s"}\n')
    assert main(["planted", result.summary.run_dir, str(other)]) == 1
    assert f"{len(lines)} false alarms in 24 turns" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["plant", "--upstream", "http://127.0.0.1:1/v1"], 2, "--fault"),
        (["plant", "--upstream", "x", "--fault", "hang=1%"], 2, "'x' is no URL"),
        (["plant", *UPSTREAM, "--fault", "hang=1%", "--truth", __file__], 2, "is there already"),
        (["plant", "--upstream", "http://127.0.0.1:1/v1", "--fault", "hung=1%"], 2, "did you mean 'hang'?"),
        (
            ["plant", "--upstream", "http://127.0.0.1:1/v1", "--fault", "hang=1%", "--truth", "/no/such/t"],
            3,
            "/no/such",
        ),
        (["planted", "/no/such", "/no/such"], 2, "there is no file /no/such"),
    ],
)
def test_wrong_words(words: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""
