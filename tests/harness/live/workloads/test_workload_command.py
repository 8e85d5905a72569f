"""`stress --workload KIND:PATH` as a user types it: one sentence for each mistake, notes, the command again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.cli.main import main
from results.reader import open_run
from tests.harness.live.fault_server import FaultServer
from tests.harness.live.test_arms_and_probe import in_a_thread
from tests.harness.live.workloads.small_files import lines, row, said, sharegpt, whole

NOBODY = "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workload", "nothing:x"], "allowed: builtin, bfcl:DIR, mooncake:FILE"),
        (["--workload", "mooncake:gone.jsonl"], "gone.jsonl: there is no such file"),
        (["--workload", "sharegpt:{file}", "--plant", "call"], "allowed: secret, none"),
        (["--workload", "sharegpt:{file}", "--prompt-tokens", "4000"], "those of a file are as long as they are"),
        (["--workload", "sharegpt:{file}", "--block-tokens", "16"], "--block-tokens belongs to"),
        (["--plant", "secret"], "--plant belongs to a workload from a file, not to 'builtin'"),
    ],
)
def test_wrong_words_are_told_before_anybody_is_asked(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = sharegpt(tmp_path / "s.json")
    assert main(["stress", "--base-url", NOBODY, *(word.format(file=file) for word in words)]) == 2
    shown = capsys.readouterr()
    assert sentence in shown.err
    assert (shown.err.count("\n"), shown.out) == (1, "")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "this file holds no entry"),
        ('[{"conversations": []}, {"conversations": 7}]', "s.json:1: field 'conversations' is a whole number"),
        ("[{]", "s.json:1: not JSON"),
    ],
)
def test_broken_files_leave_no_folder(
    content: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.json").write_text(content)
    with in_a_thread(FaultServer({})) as server:
        words = ["--workload", f"sharegpt:{tmp_path / 's.json'}", "--quiet", "--out", str(tmp_path / "runs")]
        assert main(["stress", "--base-url", server.url, *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def stressed(
    server: FaultServer, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> tuple[dict, str]:  # type: ignore[type-arg]
    with in_a_thread(server):
        command = ["stress", "--base-url", server.url, *words, "--serial-check", "0", "--json", "--quiet"]
        code = main([*command, "--out", str(tmp_path / "runs")])
    shown = capsys.readouterr()
    # The server knows no answers; what is made of its replies is another test.
    assert code in (0, 1, 4), shown.err
    return json.loads(shown.out), shown.err


def test_conversations_need_no_tools_and_say_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = whole(tmp_path / "v.json", [said(("assistant", "I begin."), ("user", f"{at}?")) for at in range(3)])
    words = ["--workload", f"vllm-multiturn:{path}", "--sessions", "5", "--plant", "none"]
    shown, notes = stressed(FaultServer({}, takes_tools=False), tmp_path, words, capsys)
    assert (shown["turns"], shown["turns_judged"], shown["turns_known"]) == (5, 5, 0)
    assert "not used: 3 x messages in front of a conversation's first question" in notes
    assert shown["workload"]["passes"] == shown["counters"]["workload_passes"] == 1
    assert shown["workload"]["source"] == f"vllm-multiturn:{path}"
    repeated = shlex.split(shown["repeat"])
    assert repeated[repeated.index("--workload") + 1] == f"vllm-multiturn:{path}"
    assert repeated[repeated.index("--plant") + 1] == "none"
    run = open_run(Path(shown["run_dir"]))
    assert run.manifest.configuration["workload"]["plant"] == "none"


def test_prompts_that_the_server_cannot_take_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lines(tmp_path / "t.jsonl", [row(list(range(at, at + size))) for at, size in ((0, 2), (50, 30), (90, 3))])
    words = ["--workload", f"mooncake:{path}", "--sessions", "2"]
    shown, notes = stressed(FaultServer({}, facts={"max_model_len": 4_000}), tmp_path, words, capsys)
    assert shown["sessions"] == 2
    assert "not used: 1 x sessions that do not fit the server's context" in notes
    asked = [(turn.session, turn.expected is not None) for turn in open_run(Path(shown["run_dir"])).turns]
    assert sorted(asked) == [(0, True), (1, True)]
    with in_a_thread(FaultServer({}, facts={"max_model_len": 900})) as server:
        assert main(["stress", "--base-url", server.url, *words, "--out", str(tmp_path / "none")]) == 2
    assert "no session of this file can be sent" in capsys.readouterr().err
