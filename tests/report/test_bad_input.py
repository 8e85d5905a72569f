"""Runs that are newer, torn, incomplete or doubled: the report says so, in every format, and calls none of them clean.

Floor: tests.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from results import layout
from results.errors import NewerRun, NotARun
from results.matrix.folder import MATRIX
from results.report.formats import render_html, render_junit, render_markdown, render_prometheus
from results.report.model import build_report
from tests.report.stored import store, store_matrix, story


def lines_of(path: Path, name: str) -> list[bytes]:
    return (path / name).read_bytes().splitlines(keepends=True)


def torn(path: Path) -> None:
    *whole, last = lines_of(path, layout.TURNS)
    (path / layout.TURNS).write_bytes(b"".join(whole) + last[:40])


def without_a_turn(path: Path) -> None:
    for name in (layout.TURNS, layout.FINDINGS):
        (path / name).write_bytes(b"".join(lines_of(path, name)[:-1]))


def damaged(path: Path) -> None:
    first, *rest = lines_of(path, layout.TURNS)
    (path / layout.TURNS).write_bytes(b"{]" + first[2:] + b"".join(rest))


def doubled(path: Path) -> None:
    lines = lines_of(path, layout.TURNS)
    (path / layout.TURNS).write_bytes(b"".join([*lines, lines[0]]))


def without_judgements(path: Path) -> None:
    (path / layout.FINDINGS).write_bytes(b"".join(lines_of(path, layout.FINDINGS)[:-3]))


def without_sessions(path: Path) -> None:
    (path / layout.SESSIONS).unlink()


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "torn": (torn, "torn last line (40 bytes, no newline)"),
    "missing turn": (without_a_turn, "1 planned turns are missing (first: session 11 turn 3)"),
    "damaged": (damaged, "turns.jsonl:1: damaged line"),
    "doubled": (doubled, "session 0 turn 0 is stored 2 times"),
    "judgements": (without_judgements, "3 turns had no judgement that could be read: judged now"),
    "sessions": (without_sessions, "sessions.jsonl:1: the file is missing"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_was_lost_is_said_in_every_format(name: str, tmp_path: Path) -> None:
    spoil, words = DAMAGES[name]
    path = store(tmp_path, story(is_clean=True))
    assert build_report(path).verdict == "clean", "the sound twin"
    spoil(path)
    report = build_report(path)
    assert report.verdict == "unknown"
    assert report.exit_code == 4
    assert any(words in fault for fault in report.faults), report.faults
    html, markdown = render_html(report), render_markdown(report)
    assert "What could not be read" in html
    assert words.replace("'", "&#39;") in html
    assert "## What could not be read" in markdown
    assert ElementTree.fromstring(render_junit(report)).find(".//testcase/error") is not None
    assert f"kvrace_faults {len(report.faults)}.0" in render_prometheus(report)


def test_a_doubled_turn_counts_once(tmp_path: Path) -> None:
    path = store(tmp_path, story())
    doubled(path)
    assert build_report(path).arms[0].turns_total == 48


def test_a_run_that_was_never_closed_keeps_its_turns(tmp_path: Path) -> None:
    report = build_report(store(tmp_path, story(), is_closed=False))
    assert report.partial
    assert any("never closed" in fault for fault in report.faults)
    assert report.arms[0].turns_total == 48
    assert report.verdict == "corrupt", "what was found stays found"
    assert "INTERRUPTED".lower() in " ".join(report.notes).lower()


def test_a_newer_run_is_refused(tmp_path: Path) -> None:
    path = store(tmp_path, story())
    manifest = json.loads((path / layout.MANIFEST).read_text())
    (path / layout.MANIFEST).write_text(json.dumps(manifest | {"schema": "kvrace-run/99"}))
    with pytest.raises(NewerRun, match="kvrace-run/99"):
        build_report(path)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    thing = tmp_path / "thing"
    with pytest.raises(NotARun, match="no such folder"):
        build_report(thing)
    thing.mkdir()
    with pytest.raises(NotARun, match=r"neither manifest\.json nor matrix\.json"):
        build_report(thing)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotARun, match="it is a file"):
        build_report(tmp_path / "file")


def test_a_matrix_says_which_run_is_newer_gone_or_changed(tmp_path: Path) -> None:
    path = store_matrix(tmp_path)
    newer, gone, changed, _ = sorted((path / "runs").iterdir())
    manifest = json.loads((newer / layout.MANIFEST).read_text())
    (newer / layout.MANIFEST).write_text(json.dumps(manifest | {"schema": "kvrace-run/99"}))
    layout.remove_folder(gone)
    turns = (changed / layout.TURNS).read_text().replace('"guests":4', '"guests":5')
    (changed / layout.TURNS).write_text(turns)
    report = build_report(path)
    text = "\n".join(report.faults)
    assert "kvrace-run/99" in text
    assert f"1 run folders are missing (first: runs/{gone.name})" in text
    assert f"{changed.name}: its turns are not those that the table counts" in text
    assert report.partial
    assert len(report.runs) == 2
    assert report.arms[0].sessions.rate == 0.1234, "the table stays that of the record"


def test_a_matrix_whose_runs_were_not_kept_shows_its_record(tmp_path: Path) -> None:
    path = store_matrix(tmp_path)
    record = json.loads((path / MATRIX).read_text())
    record["runs"] = [run | {"run_dir": None} for run in record["runs"]]
    (path / MATRIX).write_text(json.dumps(record))
    layout.remove_folder(path / "runs")
    report = build_report(path)
    (fault,) = report.faults
    assert fault.startswith("4 of 4 runs were not kept")
    broken = report.arms[0]
    assert {row.kind: row.turns.events for row in broken.kinds} == {"token_salad": 2, "damaged_arguments": 2}
    assert (broken.proof.load_backs, broken.proof.overlap, broken.proof.checks) == (62, None, ())
    assert (report.bins, report.evidence) == ((), ())
    assert "12.3 %" in render_html(report)


def test_a_missing_raw_file_is_said(tmp_path: Path) -> None:
    path = store(tmp_path, story())
    (path / layout.RAW).unlink()
    report = build_report(path)
    assert report.evidence[0].raw is None
    assert any("raw.jsonl:1: the file is missing" in fault for fault in report.faults)
