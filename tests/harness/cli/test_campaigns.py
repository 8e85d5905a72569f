"""The commands of many runs, from options to files: sweep, arms, sensitivity; resumed and interrupted.

Owns: what the user sees of a campaign. Does not own: the figures (tests/harness/search). Floor: tests.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.search.log import LOG_NAME, RunLog
from harness.search.sensitivity import plan_sensitivity
from harness.search.source import source_fingerprint
from tests.harness.cli.child import TEST_S, child
from tests.harness.search.record_builder import record_for
from tests.harness.tiny import TINY, tiny_words

pytestmark = pytest.mark.timeout(TEST_S)

_SWEEP = ["sweep", "--scenario", str(TINY), "--axis", "sessions", "--values", "1,4"]


def test_sweep_prints_a_table_and_goes_on_where_it_ended(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*_SWEEP, "--jobs", "1", "--out", str(tmp_path)]
    assert main([*words, "--seeds", "1"]) == 0
    first = capsys.readouterr()
    assert "2 of 2 runs, " in first.err
    assert first.out.startswith("| sessions at once | mean rate |")
    assert "some seeds of" not in first.out
    assert "at: 1.\n" in first.out
    assert main([*words, "--seeds", "2", "--json"]) == 0
    second = capsys.readouterr()
    assert "2 of 4 runs are in the log already" in second.err
    found = json.loads(second.out)
    assert [(row["value"], row["seeds"], row["sessions"]) for row in found["rows"]] == [("1", 2, 2), ("4", 2, 8)]
    assert found["rows"][1]["sessions_corrupted"] > 0
    assert found["folder"] == str(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [LOG_NAME, "sweep.csv", "sweep.md", "sweep.png"]


def test_command_that_is_printed_asks_the_same_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--jobs", "1", "--quiet", "--json", "--out", str(tmp_path)]
    asked = [*_SWEEP, "--seeds", "0-0", "--delay", "h2d.c4=constant:5us", "--think-s", "0.25"]
    assert main([*asked, *where]) == 0
    first = json.loads(capsys.readouterr().out)
    words = shlex.split(first["command"])
    assert words[:3] == ["python", "run.py", "sweep"]
    log = (tmp_path / LOG_NAME).read_bytes()
    assert main([*words[2:], *where]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert (tmp_path / LOG_NAME).read_bytes() == log, "every run was there already"


def test_folder_depends_on_the_question_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*_SWEEP, "--values", "1", "--seeds", "1", "--jobs", "1", "--quiet", "--json"]) == 0
    folder = json.loads(capsys.readouterr().out)["folder"]
    assert folder.startswith("results/runs/campaigns/sweep-")
    assert folder.endswith("tiny.toml-sessions")
    assert (tmp_path / folder / LOG_NAME).is_file()


def test_interrupted_sweep_keeps_its_runs_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = [*_SWEEP, "--values", "4,5,6", "--seeds", "4", "--jobs", "2", "--out", str(tmp_path)]
    with child(*words) as running:
        first = running.first_line("stderr")
        assert first.startswith("1 of 12 runs"), first
        running.interrupt()
        ended = running.end()
    assert ended.code == 130
    assert ended.out == ""
    assert "Traceback" not in ended.err
    last = ended.err.splitlines()[-1]
    assert last.startswith("error: interrupted; ")
    assert last.endswith(f"of 12 runs are kept in {tmp_path}, and the same command goes on from there")
    with RunLog(tmp_path) as log:
        assert 1 <= len(log.records) < 12
        assert log.damaged_count == 0
    assert not (tmp_path / "sweep.csv").exists()


def test_arms_in_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenarios = "hicache_bf16,hicache_bf16_gated,off_bf16"
    words = ["arms", "--scenarios", scenarios, "--seeds", "1", "--jobs", "1", "--out", str(tmp_path), *tiny_words()]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [arm["scenario"] for arm in found["arms"]] == scenarios.split(",")
    ungated, gated, off = found["arms"]
    assert ungated["sessions_corrupted"] > 0
    assert (gated["sessions_corrupted"], gated["stale_reads"]) == (0, 0)
    assert gated["load_backs"] > 0
    assert (off["sessions_corrupted"], off["load_backs"], off["host_hit_share"]) == (0, 0, 0.0)
    assert found["host_hit_ratio"] == pytest.approx(gated["host_hit_share"] / ungated["host_hit_share"])
    assert found["formats"] is None
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "arms.csv", "arms.json", "arms.md", "arms.png", LOG_NAME,
    ]  # fmt: skip
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("| arm ")


def test_sensitivity_from_a_log_that_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_sensitivity(str(TINY), (0, 1), {})
    with RunLog(tmp_path) as log:
        for job in plan.jobs:
            log.append(record_for(job, 2 + job.seed, source=source_fingerprint()))
    words = ["sensitivity", "--scenario", str(TINY), "--seeds", "2", "--jobs", "1", "--out", str(tmp_path)]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "72 of 72 runs are in the log already\n"
    found = json.loads(captured.out)
    assert [row["rate"] for row in found["rows"]] == [0.25] * (1 + 2 * 16 + 3)
    assert main([*words, "--quiet"]) == 0
    assert "| head start of the load | us " in capsys.readouterr().out
    assert {"sensitivity.csv", "sensitivity.md", "sensitivity.png"} < {path.name for path in tmp_path.iterdir()}
