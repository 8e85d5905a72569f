"""A matrix folder comes back whole, or says what is wrong with it. Floor: tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from results.errors import NewerRun, NotARun
from results.matrix.errors import NotAMatrix
from results.matrix.folder import MATRIX, is_matrix, open_matrix, write_matrix
from results.matrix.screen import matrix_screen
from results.reader import open_run
from tests.results.matrix_builder import matrix, stored_run

_CORRUPTED = {"hicache_bf16": {0: 3, 1: 5}, "off_bf16": {0: 0, 1: 0}}


def test_a_matrix_comes_back(tmp_path: Path) -> None:
    record = matrix(_CORRUPTED)
    assert not is_matrix(tmp_path)
    write_matrix(tmp_path, record)
    assert is_matrix(tmp_path)
    stored = open_matrix(tmp_path)
    assert (stored.record, stored.faults, stored.is_partial) == (record, (), False)
    assert [run.seed for run in record.runs_of("off_bf16")] == [0, 1]


def test_fields_of_a_later_minor_change_are_read_over(tmp_path: Path) -> None:
    path = write_matrix(tmp_path, matrix(_CORRUPTED))
    table = json.loads(path.read_text())
    path.write_text(json.dumps({**table, "mood": "fine"}))
    assert open_matrix(tmp_path).record == matrix(_CORRUPTED)


@pytest.mark.parametrize("schema", ["kvrace-matrix/2", "kvrace-matrix/17"])
def test_a_newer_matrix_is_refused(tmp_path: Path, schema: str) -> None:
    write_matrix(tmp_path, matrix(_CORRUPTED, schema=schema))
    with pytest.raises(NewerRun, match=f"format '{schema}', and this version reads up to 'kvrace-matrix/1'; update"):
        open_matrix(tmp_path)


def test_what_is_no_matrix(tmp_path: Path) -> None:
    with pytest.raises(NotAMatrix, match=r"it holds no matrix\.json"):
        open_matrix(tmp_path)
    with pytest.raises(NotAMatrix, match="there is no such folder"):
        open_matrix(tmp_path / "nowhere")
    (tmp_path / MATRIX).write_text('{"schema": "kvrace-run/1"}')
    with pytest.raises(NotAMatrix, match="its format is 'kvrace-run/1', not 'kvrace-matrix/1'"):
        open_matrix(tmp_path)
    (tmp_path / MATRIX).write_text('{"schema": "kvrace-matrix/1"')
    with pytest.raises(NotAMatrix, match=r"its matrix\.json cannot be read"):
        open_matrix(tmp_path)


def test_every_fault_is_said(tmp_path: Path) -> None:
    whole = matrix(_CORRUPTED)
    kept = tuple(replace(run, run_dir=f"runs/{run.scenario}-s{run.seed}") for run in whole.runs)
    for run in kept[1:]:
        (tmp_path / str(run.run_dir)).mkdir(parents=True)
    write_matrix(tmp_path, replace(whole, runs=(*kept[:3], kept[2]), runs_wanted=4))
    stored = open_matrix(tmp_path)
    assert [fault.reason for fault in stored.faults] == [
        "off_bf16 seed 0 is stored 2 times",
        "4 runs were wanted, 3 are recorded",
        "1 run folders are missing (first: runs/hicache_bf16-s0)",
    ]
    assert stored.is_partial


def test_a_newer_run_is_refused_as_before(tmp_path: Path) -> None:
    path = stored_run(tmp_path, seed=1, corrupted=0, schema="kvrace-run/9")
    with pytest.raises(NewerRun, match="'kvrace-run/9'"):
        open_run(path)
    (path / "manifest.json").write_text('{"schema": "kvrace-matrix/1"}')
    with pytest.raises(NotARun, match="its format is 'kvrace-matrix/1'"):
        open_run(path)


def test_screen_says_verdict_and_expectations_first() -> None:
    lines = matrix_screen(matrix(_CORRUPTED, verdict_reason="1 of 2 arms corrupted: hicache_bf16")).splitlines()
    assert lines[0] == "CORRUPT  matrix of 2 arms x 2 seeds, 40 sessions: 1 of 2 arms corrupted: hicache_bf16"
    assert lines[1] == "expectations hold: every arm did what its scenario expects"
    odd = matrix(_CORRUPTED, expect={"hicache_bf16": "clean"}, partial=True)
    lines = matrix_screen(odd).splitlines()
    assert lines[1] == "INTERRUPTED  what was done is kept"
    assert lines[2] == "expectations do NOT hold: hicache_bf16 (expected clean, is corrupt: 8 of 20)"
