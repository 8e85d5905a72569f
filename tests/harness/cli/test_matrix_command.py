"""`run.py matrix` and `compare` with real runs: kept, continued, interrupted. Floor: tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from harness.cli.main import main
from harness.search import campaign
from results.matrix.folder import MATRIX, open_matrix
from results.reader import open_run
from tests.harness.cli.child import TEST_S, child
from tests.harness.tiny import tiny_words

pytestmark = pytest.mark.timeout(TEST_S)

_WORDS = ["matrix", "--arms", "hicache_bf16,off_bf16", *tiny_words()]


@pytest.mark.slow
def test_matrix_keeps_its_runs_goes_on_and_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Somebody may be working on the code while the test runs.
    monkeypatch.setattr(campaign, "source_fingerprint", lambda: "of this test")
    folder = tmp_path / "m"
    words = [*_WORDS, "--workers", "1", "--out", str(folder), "--json"]
    assert main([*words, "--seeds", "1"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("seeds 0-0, arms hicache_bf16, off_bf16\n")
    found = json.loads(captured.out)
    wanted = {"scenario", "seeds", "sessions", "sessions_corrupted", "session_rate", "session_ci95", "p_vs_control"}
    assert all(wanted <= set(arm) for arm in found["arms"])
    assert (found["verdict"], found["run_dir"], found["expectations_hold"]) == ("corrupt", str(folder), True)
    for path in found["reports"].values():
        assert Path(path).stat().st_size > 0
    stored = open_matrix(folder)
    assert stored.faults == ()
    for run in stored.record.runs:
        kept = open_run(folder / str(run.run_dir))
        assert (kept.manifest.seed, kept.manifest.scenario, kept.is_partial) == (run.seed, run.scenario, False)
        assert kept.manifest.repeat.startswith(f"python run.py --scenario {run.scenario} --seed {run.seed} ")

    # A run whose folder is gone is made again, and nothing else is.
    shutil.rmtree(folder / str(stored.record.runs[0].run_dir))
    assert main([*words, "--seeds", "1"]) == 1
    captured = capsys.readouterr()
    assert "1 of 2 runs are in the log already" in captured.err
    assert "other source code" not in captured.err
    again = open_matrix(folder)
    assert again.faults == ()
    assert [run.digest for run in again.record.runs] == [run.digest for run in stored.record.runs]

    runs = [str(folder / str(run.run_dir)) for run in again.record.runs]
    assert main(["compare", *runs, "--json"]) in (0, 1)
    compared = json.loads(capsys.readouterr().out)
    assert compared["contrasts"][0]["differs_in"] == {"cache.hicache": [True, False]}
    assert main(["compare", f"{folder}:hicache_bf16", f"{folder}:off_bf16"]) == 4
    assert "1 and 1 seeds of their own" not in capsys.readouterr().out


@pytest.mark.slow
def test_interrupted_matrix_keeps_what_was_done(tmp_path: Path) -> None:
    words = [*_WORDS, "--seeds", "6", "--workers", "2", "--out", str(tmp_path)]
    with child(*words) as running:
        while not (line := running.first_line("stderr")).startswith("1 of 12 runs"):
            assert line
        running.interrupt()
        ended = running.end()
    assert (ended.code, ended.out) == (130, "")
    assert "Traceback" not in ended.err
    assert ended.err.splitlines()[-1].startswith("error: interrupted; ")
    stored = open_matrix(tmp_path)
    assert stored.record.partial
    assert 1 <= len(stored.record.runs) < 12
    assert (tmp_path / "report.md").exists()


def test_wrong_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, sentence in (
        (["matrix", "--arms", "hicache_bf17"], "unknown scenario 'hicache_bf17' (did you mean 'hicache_bf16'?)"),
        (["matrix", "--arms", "hicache_bf16,short_context"], "have different workloads"),
        (["matrix", "--arms", "hicache_bf16", "--until", "decided"], "needs a control"),
        (["matrix", "--until", "sure"], "'sure' is not one of 'all', 'decided'"),
        (["matrix", "--seeds", "x"], "--seeds 'x': 'x' is no seed"),
        (["compare", str(tmp_path), "x"], "is not a run folder: it holds neither"),
        (["compare", "x"], "Missing argument 'B'"),
    ):
        assert main([*words, *(["--out", str(tmp_path)] if words[0] == "matrix" else [])]) == 2, words
        captured = capsys.readouterr()
        assert captured.out == ""
        assert sentence in captured.err.splitlines()[-1], captured.err
    assert not (tmp_path / MATRIX).exists()
