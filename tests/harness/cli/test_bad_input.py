"""A user's mistake: one sentence that names it, the right exit code, nothing started, never a traceback.

Owns: the refusals of every command. Floor: tests.
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.cli.main import main
from tests.harness.cli.child import TEST_S, run_child
from tests.harness.tiny import TINY

pytestmark = pytest.mark.timeout(TEST_S)

_MISTAKES = [
    (["--scenario", "hicache_bf17"], "unknown scenario 'hicache_bf17' (did you mean 'hicache_bf16'?); allowed: "),
    (["--scenario", "nowhere.toml"], "nowhere.toml: no such scenario file"),
    (["--sesions", "5"], "No such option '--sesions'"),
    (["--sessions", "0"], "workload.sessions = '0': expected integer >= 1"),
    (["--sessions", "-3"], "workload.sessions = '-3'"),
    (["--sessions", "many"], "workload.sessions = 'many'"),
    (["--index-k", "fp16"], "cache.index_k = 'fp16': is not one of the allowed values"),
    (["--device-tokens", "1000"], "does not fit into cache.device_tokens = 1000"),
    (["--delay", "h2d.indexk=constant:1us"], "'h2d.indexk' is not a delay point (did you mean 'h2d.index_k'?)"),
    (["--delay", "h2d.index_k=normal:1us"], "'normal' is not a delay distribution"),
    (["--delay", "h2d.index_k"], "does not have the form POINT=DISTRIBUTION"),
    (["--set", "cache.gate=true"], "unknown key 'cache.gate'"),
    (["--set", "cache.gate_index_k"], "does not have the form SECTION.KEY=VALUE"),
    (["--seed", "-1"], "Invalid value for '--seed'"),
    (["--workload", "mine"], "expected 'builtin' or 'bfcl:DIR'"),
    (["--preset", "deepseek-v3"], "cache.preset = 'deepseek-v3'"),
    (["frobnicate"], "No such command 'frobnicate'"),
    (["--sessions", "5", "sweep"], "--sessions stands before the command 'sweep'"),
    (["sweep", "--values", "1"], "Missing option '--axis'"),
    (["sweep", "--axis", "sessions"], "Missing option '--values'"),
    (["sweep", "--axis", "speed", "--values", "1"], "unknown axis 'speed'; allowed: sessions, bandwidth,"),
    (["sweep", "--axis", "sessions", "--values", "5,0"], "workload.sessions = '0'"),
    (["sweep", "--axis", "sessions", "--values", "5", "--seeds", "x"], "--seeds 'x': 'x' is no seed"),
    (["sweep", "--axis", "sessions", "--values", "5", "--jobs", "0"], "Invalid value for '--jobs'"),
    (["sweep", "--axis", "delay:h2d.index_k", "--values", "5"], "'5' is not a time"),
    (["arms", "--scenarios", "off_bf16,off_bf17"], "unknown scenario 'off_bf17'"),
    (["sensitivity", "--step", "2"], "Invalid value for '--step'"),
    (["serve", "--port", "70000"], "Invalid value for '--port'"),
    (["serve", "--speed", "0"], "Invalid value for '--speed'"),
    (["options", "--scenario", "nope"], "unknown scenario 'nope'"),
]


_SPREAD = [
    "--seed",
    "0",
    "--device-tokens",
    "6700",
    "--tool-result-log-sigma",
    "1.2",
    "--tool-result-tokens-max",
    "4000",
]
"""Enough room for tool results of mean size, and not for those that are drawn."""


@pytest.mark.parametrize(("words", "sentence"), _MISTAKES, ids=[" ".join(words) for words, _ in _MISTAKES])
def test_mistake_is_one_sentence(
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("error: ")
    assert sentence in line
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == [], "nothing was started"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workload", "bfcl:nowhere"], "no BFCL folder at 'nowhere'"),
        (["--preset", "dsa"], "preset 'dsa' can be sized but not run"),
        (["--preset", "tiny"], "preset 'tiny' can be sized but not run: it selects 8 entries"),
        (["--scenario", str(TINY), *_SPREAD], "the last prompt of session"),
    ],
    ids=["workload", "preset", "narrow preset", "drawn sizes"],
)
def test_mistake_that_only_the_machine_can_see(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The seed has been printed by then; still nothing has been started."""
    assert main([*words, "--quiet", "--out", str(tmp_path / "runs")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {sentence}")
    assert captured.out.startswith("seed ")
    assert not (tmp_path / "runs").exists()


def test_mistake_in_a_file_names_file_and_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text('extends = "base"\nsummary = "Mine."\nexpect = "clean"\n\n[cache]\nindex_l = "fp8"\n', "utf-8")
    assert main(["--scenario", str(mine)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"error: {mine}:6: unknown key 'cache.index_l' (did you mean 'cache.index_k'?)")
    mine.write_text("extends = ", "utf-8")
    assert main(["--scenario", str(mine)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {mine}:1: not valid TOML")


@pytest.mark.parametrize(
    "words",
    [
        ["--scenario", str(TINY), "--quiet", "--out", "file/runs"],
        ["--scenario", str(TINY), "--quiet", "--trace", "file/trace"],
        ["sweep", "--scenario", str(TINY), "--axis", "sessions", "--values", "1", "--seeds", "1", "--out", "file/x"],
    ],
    ids=["--out", "--trace", "sweep --out"],
)
def test_place_that_cannot_be_written(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder inside a file: not even the system's administrator can write there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert main(words) == 3
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert "file/" in err
    assert "Traceback" not in err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_port_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for option in ("--port", "--prefill-port", "--decode-port"):
            assert main(["serve", option, str(port)]) == 3
            captured = capsys.readouterr()
            assert captured.err.startswith(f"error: port {port} on 127.0.0.1, meant for the ")
            assert "is in use already" in captured.err
            assert captured.out == ""


def test_optimised_interpreter_is_refused() -> None:
    """Without assertions, a bug of ours could pass for a result."""
    ended = run_child("list", interpreter_options=("-O",))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: python -O removes the assertions")
