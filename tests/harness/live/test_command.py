"""`stress` as a user types it: one sentence for each wrong word, the right exit code, Ctrl-C."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.pair.listening import listening_socket
from results.reader import open_run
from tests.harness.cli.child import TEST_S, child
from tests.harness.live.fault_server import MODEL, FaultServer, answers_of
from tests.harness.live.live_requests import request, workload_of
from tests.harness.live.test_arms_and_probe import SIZES, Knowing, in_a_thread

SERVER = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "no server is named"),
        (["--base-url", "x"], 2, "is no base URL"),
        (["--base-url", "http://10.0.0.1/v1"], 2, "--i-may-load-this-server"),
        (["--base-url", SERVER, "--arm", f"a={SERVER}"], 2, "leave one of them out"),
        (["--base-url", SERVER, "--duration", "soon"], 2, "write 90s, 10m or 1h"),
        (["--base-url", SERVER, "--sessions", "9999"], 2, "1 to 512"),
        (["--base-url", SERVER, "--load", "poisson"], 2, "needs --rate"),
        (["--base-url", SERVER, "--set", "cache.x=1"], 2, "workload.KEY=VALUE"),
        (["--base-url", SERVER, "--api-key-env", "KVRACE_NOT_SET"], 2, "is not set"),
        (["--base-url", SERVER, "--proxies-from-environment"], 2, "--transport aiohttp"),
        (["--base-url", SERVER, "--metrics-url", "x"], 2, "--metrics-url 'x' is no URL"),
        (["--arm", f"a={SERVER}", "--arm", f"b={SERVER}", "--duration", "1m"], 2, "--blocks"),
        (["--arm", f"a={SERVER}", "--arm", f"b={SERVER}", "--metrics-url", f"{SERVER}/metrics"], 2, "of one server"),
    ],
)
def test_wrong_words(words: list[str], code: int, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stress", *words]) == code
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.err.count("\n") == 1
    assert shown.out == ""


def test_nobody_listens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening_socket("127.0.0.1", 0, what="test") as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
    assert main(["stress", "--base-url", url, "--out", str(tmp_path)]) == 3
    assert "cannot be reached" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("server", "words", "code", "sentence"),
    [
        (FaultServer({}), ["--model", "gpt"], 2, "the server has no model 'gpt'"),
        (FaultServer({}, takes_tools=False), ["--task", "call"], 3, "takes no tools"),
        (FaultServer({}, refuses_key=True), [], 2, "give a key that it takes"),
        (FaultServer({}, {"preflight": "server_error"}), [], 3, "the server answered 500: boom"),
        (FaultServer({}, {"preflight": "hang"}), ["--read-timeout", "0.1"], 3, "nothing more came within 0.1 s"),
        (FaultServer({}, facts={"max_model_len": 2_000}), [*SIZES], 2, "choose shorter ones"),
        (FaultServer({}), ["--tokens-max", "10", "--prompt-tokens", "1800", "--sessions", "2"], 2, "more than the 10"),
    ],
)
def test_server_that_cannot_be_used(
    server: FaultServer, words: list[str], code: int, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with in_a_thread(server):
        assert main(["stress", "--base-url", server.url, *words, "--quiet", "--json", "--out", str(tmp_path)]) == code
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert shown.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("transport", ["raw", "openai"])
def test_json_has_the_fields_of_the_main_command(
    transport: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dataclasses import fields

    from results.summary import RunSummary

    with in_a_thread(FaultServer(Knowing([5], wrong=6))) as server:
        words = ["stress", "--base-url", server.url, "--transport", transport, *SIZES, "--json", "--quiet"]
        assert main([*words, "--out", str(tmp_path)]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert {field.name for field in fields(RunSummary)} <= shown.keys()
    assert (shown["backend"], shown["turns"], shown["turns_corrupted"]) == ("live", 18, 3)
    assert [shown[name] for name in ("load_backs", "loaded_bytes", "host_hit_turns", "stale_reads")] == [None] * 4
    assert shown["latency_ms"]["verdict"] in ("ok", "unknown")
    assert shown["repeat"].startswith(f"python run.py stress --base-url {server.url} --model {MODEL}")
    # What was stored can be judged again and reported.
    for command in ("score", "report"):
        assert main([command, shown["run_dir"], "--json"]) == 1
    assert json.loads(Path(shown["run_dir"], "summary.json").read_text())["stale_reads"] is None


@pytest.mark.timeout(TEST_S)
def test_ctrl_c_keeps_what_was_done(tmp_path: Path) -> None:
    asked = request(SERVER)
    names = list(answers_of(workload_of(asked)))
    with in_a_thread(FaultServer(Knowing([5], 0), dict.fromkeys(names[3:], "hang"))) as server:
        words = ["stress", "--base-url", server.url, *SIZES, "--out", str(tmp_path)]
        with child(*words) as running:
            assert running.process.stderr is not None
            # Progress is told once some turns have ended.
            while "turns" not in (line := running.process.stderr.readline()):
                assert line, "it ended by itself"
            running.interrupt()
            ended = running.end()
    assert ended.code == 130
    (folder,) = tmp_path.iterdir()
    run = open_run(folder)
    assert run.is_partial
    assert run.turns
