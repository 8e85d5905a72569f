"""The main command: one screen or one JSON object, the seed first, the exit code, and Ctrl-C.

Owns: `python run.py` without a command. Floor: tests.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from harness.cli.main import main
from results.reader import open_run
from tests.harness.cli.child import TEST_S, child, run_child
from tests.harness.tiny import TINY

pytestmark = pytest.mark.timeout(TEST_S)

_PROMISED = (
    "scenario", "seed", "backend", "sessions", "sessions_corrupted", "session_rate", "session_ci95", "turns",
    "turns_corrupted", "kinds", "load_backs", "host_hit_turns", "stale_reads", "wall_s", "digest", "run_dir",
)  # fmt: skip


def _json_run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any], str]:
    code = main([*words, "--json"])
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1, "one object on standard output, and nothing else"
    return code, json.loads(captured.out), captured.err


def test_json_is_the_only_output_and_has_what_is_promised(tmp_path: Path) -> None:
    """In a process of its own, so that nothing of ours stands between it and the two streams."""
    ended = run_child("--scenario", str(TINY), "--seed", "0", "--json", "--out", str(tmp_path))
    summary = json.loads(ended.out)
    assert [key for key in _PROMISED if key not in summary] == []
    assert ended.code == 1
    assert (summary["scenario"], summary["seed"], summary["backend"], summary["sessions"]) == ("tiny", 0, "virtual", 6)
    assert summary["sessions_corrupted"] > 0
    assert summary["load_backs"] > 0
    assert summary["stale_reads"] > 0
    assert ended.err.splitlines()[0].startswith("seed 0, scenario tiny:")
    assert "18 of 18 turns, 6 of 6 sessions" in ended.err or "turns corrupted" in ended.err
    run = open_run(Path(summary["run_dir"]))
    assert not run.is_partial
    assert len(run.turns) == summary["turns"] == 18


def test_same_seed_twice_is_one_digest_and_another_seed_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--scenario", str(TINY), "--quiet", "--out", str(tmp_path))
    digests = [_json_run(capsys, *words, "--seed", seed)[1]["digest"] for seed in ("0", "0", "1")]
    assert digests[0] == digests[1] != digests[2]


def test_gate_closes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, summary, err = _json_run(
        capsys, "--scenario", str(TINY), "--seed", "0", "--gate-index-k", "true", "--quiet", "--out", str(tmp_path)
    )
    assert (code, summary["sessions_corrupted"], summary["stale_reads"]) == (0, 0, 0)
    assert summary["load_backs"] > 0
    assert len(err.splitlines()) == 1, "--quiet leaves the line with the seed"


def test_screen_shows_seed_evidence_and_the_command_that_repeats_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--scenario", str(TINY), "--seed", "0", "--delay", "h2d.c4=constant:1us", "--sessions", "5"]
    assert main([*words, "--quiet", "--out", str(tmp_path)]) == 1
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("seed 0, scenario tiny:")
    screen = "\n".join(lines)
    assert "CORRUPT" in screen
    assert "index_k[layer" in screen
    assert str(next(tmp_path.iterdir())) in screen.replace("\n", "").replace(" ", "")
    repeated = " ".join(lines[_row_of(lines, "repeat") :]).removeprefix("repeat")
    assert {"run.py", "--seed", "0", "h2d.c4=constant:1us", "--sessions", "5"} <= set(shlex.split(repeated))


def _row_of(lines: list[str], label: str) -> int:
    return next(row for row, line in enumerate(lines) if line.startswith(label))


def test_nothing_exercised_is_no_clean_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, summary, _ = _json_run(capsys, "--scenario", str(TINY), "--sessions", "1", "--quiet", "--out", str(tmp_path))
    assert (code, summary["verdict"], summary["load_backs"]) == (4, "unknown", 0)


def test_interrupt_keeps_what_was_done_and_marks_it_partial(tmp_path: Path) -> None:
    # Enough sessions for seconds of work after the first turn has ended.
    with child("--scenario", str(TINY), "--sessions", "40", "--seed", "0", "--json", "--out", str(tmp_path)) as running:
        assert running.first_line("stderr").startswith("seed 0")
        assert "of 120 turns" in running.first_line("stderr")
        running.interrupt()
        ended = running.end()
    summary = json.loads(ended.out)
    assert ended.code == 130
    assert summary["partial"] is True
    assert 0 < summary["turns"] < 120
    assert "Traceback" not in ended.err
    run = open_run(Path(summary["run_dir"]))
    assert run.is_partial
    assert len(run.turns) == summary["turns"]
    assert run.faults == ()


def test_trace_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.jsonl"
    _json_run(
        capsys, "--scenario", str(TINY), "--sessions", "1", "--quiet", "--out", str(tmp_path), "--trace", str(trace)
    )
    lines = trace.read_text(encoding="utf-8").splitlines()
    assert "kvrace-trace/1" in lines[0]
    assert len(lines) > 100
    assert all(json.loads(line) for line in (lines[0], lines[-1]))
