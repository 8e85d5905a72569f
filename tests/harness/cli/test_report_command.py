"""`run.py report`: what it writes where, what it says, and what it refuses. Floor: tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import main
from results import layout
from results.report.formats import FILE_NAMES
from tests.report.stored import store, store_matrix, story


def test_it_writes_the_page_beside_the_run_and_ends_as_the_run_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corrupt, clean = store(tmp_path, story()), store(tmp_path, story(is_clean=True))
    assert main(["report", str(corrupt)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "CORRUPT  hicache_bf16, seed 1"
    assert out[-1].split() == ["html", str(corrupt / "report.html")]
    assert main(["report", str(clean)]) == 0
    for path in (corrupt, clean):
        assert (path / "report.html").read_text().startswith("<!doctype html>")


def test_json_is_one_object_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store_matrix(tmp_path)
    words = [word for name in FILE_NAMES for word in ("--format", name)]
    assert main(["report", str(path), "--json", "--quiet", *words]) == 1
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert captured.err == ""
    assert told["verdict"] == "corrupt"
    assert {name: Path(file).name for name, file in told["files"].items()} == dict(FILE_NAMES)
    assert all(Path(file).stat().st_size for file in told["files"].values())


def test_text_may_go_to_standard_output_or_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store(tmp_path, story())
    assert main(["report", str(path), "--format", "md", "--out", "-"]) == 1
    assert capsys.readouterr().out.startswith("# CORRUPT: hicache_bf16, seed 1\n")
    assert main(["report", str(path), "--format", "junit", "--out", str(tmp_path / "out.xml")]) == 1
    assert (tmp_path / "out.xml").read_text().startswith("<?xml")
    assert not (path / "junit.xml").exists()


def test_faults_are_warnings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store(tmp_path, story(is_clean=True))
    with (path / layout.TURNS).open("ab") as file:
        file.write(b'{"session":')
    assert main(["report", str(path), "--quiet"]) == 4
    captured = capsys.readouterr()
    assert captured.out.startswith("UNKNOWN")
    assert "warning: turns.jsonl:49: torn last line" in captured.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{run}", "--format", "pdf"], "'pdf' is not one of 'html', 'md', 'junit', 'json', 'prometheus', 'parquet'"),
        (
            ["{run}", "--format", "md", "--format", "html", "--out", "x"],
            "--out names one file, and --format was given 2",
        ),
        (["{run}", "--out", "-", "--json"], "both want standard output"),
        (["{run}", "--format", "parquet", "--out", "-"], "name a file for parquet"),
        (["{run}", "--out", "{run}"], "is a folder; name a file in it"),
        (["{run}/nothing"], "is not a run folder: there is no such folder"),
        (["{run}/.."], "holds neither manifest.json nor matrix.json"),
        ([], "Missing argument 'RUN_DIR'"),
    ],
)
def test_mistakes_get_one_sentence(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(store(tmp_path, story()))
    assert main(["report", *(word.format(run=run) for word in words), "--quiet"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert sentence in captured.err
    assert len(captured.err.splitlines()) == 1


def test_a_newer_run_ends_with_the_environment_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = store(tmp_path, story())
    manifest = path / layout.MANIFEST
    manifest.write_text(manifest.read_text().replace("kvrace-run/3", "kvrace-run/4"))
    assert main(["report", str(path)]) == 3
    assert "update this tool" in capsys.readouterr().err
