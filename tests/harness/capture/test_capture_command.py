"""`capture` as a user types it: one sentence for each wrong word, what it prints, Ctrl-C."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from harness.capture.record import read_capture
from harness.cli.main import main
from harness.pair.listening import listening_socket
from tests.harness.cli.child import PATIENCE_S, TEST_S, child
from tests.harness.live.fault_server import MODEL, FaultServer
from tests.harness.live.test_arms_and_probe import in_a_thread

UPSTREAM = ["--upstream", "http://127.0.0.1:1/v1"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Missing option '--upstream'"),
        (["--upstream", "server"], "is no URL; it has the form http://HOST:PORT"),
        (["--upstream", "http://h:x"], "--upstream is no URL"),
        (["--upstream", "http://bob:hunter2@h/v1"], "holds a user name or password"),
        (["--upstream", "http://h/v1?key=1"], "ends before any '?'"),
        (["--upstream", "http://127.0.0.1:9/v1", "--listen", "9"], "is the upstream itself"),
        ([*UPSTREAM, "--max-bytes", "much"], "write 500M or 2G"),
        ([*UPSTREAM, "--duration", "soon"], "write 90s, 10m or 1h"),
        ([*UPSTREAM, "--keep-text", "--scrub", "strict"], "leave one of them out"),
        ([*UPSTREAM, "--scrub-pattern", "("], "is no regular expression"),
        ([*UPSTREAM, "--scrub-file", "/nowhere"], "cannot be read"),
    ],
)
def test_wrong_words(words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", *words, "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")
    assert "hunter2" not in shown.err
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening_socket("127.0.0.1", 0, what="test") as bound:
        port = str(bound.getsockname()[1])
        assert main(["capture", *UPSTREAM, "--listen", port, "--out", str(tmp_path)]) == 3
    assert "is in use already" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_recorded_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["capture", *UPSTREAM, "--duration", "0.01s", "--out", str(tmp_path)]) == 4
    shown = capsys.readouterr()
    assert "nobody answers at http://127.0.0.1:1 yet" in shown.err
    assert "RECORDED  0 exchanges" in shown.out
    assert "there is nothing to send again" in shown.out


@pytest.mark.timeout(TEST_S)
def test_an_agent_is_recorded_until_ctrl_c(tmp_path: Path) -> None:
    body = json.dumps({"model": MODEL, "user": "x", "messages": [{"role": "user", "content": "hi"}]}).encode()
    with in_a_thread(FaultServer({})) as server:
        with child("capture", "--upstream", server.url, "--json", "--out", str(tmp_path)) as running:
            line = running.first_line("stderr")
            assert line.startswith("recording http://127.0.0.1:")
            base_url = line.split()[1]
            headers = {"Authorization": "Bearer not-a-real-key-77", "Content-Type": "application/json"}
            asked = urllib.request.Request(f"{base_url}/chat/completions", data=body, headers=headers)
            with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
                assert b"open_door" in answer.read()
            running.interrupt()
            ended = running.end()
        assert any(b"not-a-real-key-77" in top for top in server.heads), "the server gets the key"
    shown = json.loads(ended.out)
    assert (ended.code, shown["exchanges"], shown["sessions"], shown["ended_by"]) == (0, 1, 1, "interrupted")
    assert shown["replay"].endswith(f"--workload recorded:{shown['capture_dir']} --sessions 1")
    assert "1 exchange recorded\n" in ended.err
    (exchange,) = read_capture(Path(shown["capture_dir"])).exchanges
    assert exchange.reply.tool_calls[0].name == "open_door"
    assert not any(b"not-a-real-key" in path.read_bytes() for path in Path(shown["capture_dir"]).iterdir())
