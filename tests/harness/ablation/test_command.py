"""`run.py ablate`: what it prints and writes, and what it refuses.

Owns: the command. Floor: tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from harness.cli.main import main
from harness.search.ablation.measure import Ablation, Measured, Progress
from tests.harness.ablation.small import small_scenario

FEW = ["--sessions", "2", "--questions", "1", "--redundancy", "1", "--pages", "0.5,1", "--layers", "1"]


@pytest.fixture(autouse=True)
def _short_histories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.cli.ablate.load_scenario", lambda _: small_scenario())


def test_it_prints_the_seed_first_and_writes_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", "--seed", "101", *FEW, "--delays-us", "0,50", "--out", str(tmp_path / "found")]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("seed 101, ablation: 2 sessions x 1 questions")
    assert "So the claim" in shown.out
    assert shown.out.splitlines()[-1].startswith("repeat  python run.py ablate --seed 101 --sessions 2 ")
    assert "8 of 8" not in shown.err
    assert "4 of 4 sessions" in shown.err
    names = {"ablation.csv", "ablation_replies.csv", "ablation.md", "ablation.png", "ablation_copies.png"}
    assert {file.name for file in (tmp_path / "found").iterdir()} == {*names, "ablation_delays.png"}
    assert (tmp_path / "found" / "ablation.png").read_bytes().startswith(b"\x89PNG")
    cells = pd.read_csv(tmp_path / "found" / "ablation.csv")
    assert len(cells) == 4 * (2 * 2 + 2 + 1)
    assert set(cells["pool"]) == {"index_k", "c4", "c128", "swa"}


def test_json_is_one_object_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", *FEW, "--delays-us", "50", "--json", "--quiet", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["seed"], found["partial"], len(found["files"])) == (100, False, 6)
    assert set(found["hidden"]) <= {"c4", "c128", "swa"}
    assert len(found["cells"]) == 4 * (2 * 2 + 1 + 1)
    assert shown.err.splitlines() == ["seed 100, ablation: 2 sessions x 1 questions, copies 1"]


def test_ctrl_c_keeps_what_was_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole_run = Ablation.run

    def run(self: Ablation, on_progress: Callable[[Progress], None]) -> Measured:
        def stop(progress: Progress) -> None:
            on_progress(progress)
            raise KeyboardInterrupt

        return whole_run(self, stop)

    monkeypatch.setattr(Ablation, "run", run)
    assert main(["ablate", *FEW, "--delays-us", "50", "--out", str(tmp_path)]) == 130
    assert "INTERRUPTED" in capsys.readouterr().out
    assert set(pd.read_csv(tmp_path / "ablation.csv")["cases"]) == {1}


def test_without_a_case_there_is_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ablation, "run", lambda self, _: self.measured)
    assert main(["ablate", *FEW, "--out", str(tmp_path / "found")]) == 4
    assert "nothing was measured" in capsys.readouterr().err
    assert not (tmp_path / "found").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--pages", "0.1,x"], "--pages '0.1,x': expected numbers, comma separated"),
        (["--pages", "1.5"], "--pages 1.5: expected 0 to 1"),
        (["--pages", "nan"], "--pages nan: expected 0 to 1"),
        (["--layers", "0.5,0.5"], "--layers names a value twice"),
        (["--delays-us", "-3"], "--delays-us -3: expected 0 to 100000"),
        (["--redundancy", "0"], "--redundancy 0: expected 1 to 8"),
        (["--redundancy", "1.5"], "--redundancy '1.5': expected whole numbers, comma separated"),
        (["--sessions", "1"], "--sessions 1: expected 2 to 10000, because a stale page holds another session's bytes"),
        (["--questions", "0"], "--questions 0: expected 1 to 12"),
        (["--index-k", "fp4"], "--index-k 'fp4' is not a format that can be read"),
        (["--sessions", "many"], "'many' is not a valid integer"),
        (["--speed", "9"], "No such option"),
    ],
)
def test_a_mistake_is_one_sentence(options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert sentence in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_folder_that_cannot_be_made_is_a_matter_of_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert main(["ablate", *FEW, "--delays-us", "0", "--quiet", "--out", str(tmp_path / "file" / "found")]) == 3
    assert "cannot be written" in capsys.readouterr().err
